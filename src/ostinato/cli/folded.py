"""Long texts shown in short: the beginning and the end, with a count of the lines between."""

from collections.abc import Sequence

MAX_LINE_CHARACTERS = 1_000
"""Of one line of a shortened text; the rest of it is counted."""


def folded(lines: Sequence[str], head: int, tail: int) -> list[str]:
    """At most `head` and `tail` lines and one that says how many were left out; no line is left out to say that one was."""
    if len(lines) <= head + tail + 1:
        return [_cut(line) for line in lines]
    left_out = len(lines) - head - tail
    end = lines[len(lines) - tail :]
    return [*map(_cut, lines[:head]), f"… {left_out:,} more lines", *map(_cut, end)]


def _cut(line: str) -> str:
    more = len(line) - MAX_LINE_CHARACTERS
    return f"{line[:MAX_LINE_CHARACTERS]}… {more:,} more characters" if more > 0 else line

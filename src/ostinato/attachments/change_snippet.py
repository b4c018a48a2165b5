"""What changed in a text, short enough to send along; bounded in time too, since files change in any way they like."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

import msgspec

MAX_SNIPPET_BYTES: Final = 8192
MAX_COMPARED_LINES: Final = 1000
"""On either side, once equal beginnings and ends are taken off; more is too much for a snippet anyway."""

CONTEXT_LINES: Final = 3


class Snippet(msgspec.Struct, frozen=True):
    """`is_whole`: whoever knows the old text and this knows the new text. `text` may be empty when it is not."""

    text: str
    is_whole: bool


def change_snippet(before: str, after: str) -> Snippet:
    """A unified diff without file names, at most `MAX_SNIPPET_BYTES` of UTF-8."""
    old, new = before.split("\n"), after.split("\n")
    head = _equal_count(old, new)
    tail = _equal_count(old[head:][::-1], new[head:][::-1])
    skipped = max(0, head - CONTEXT_LINES)
    kept_tail = max(0, tail - CONTEXT_LINES)
    old, new = old[skipped : len(old) - kept_tail], new[skipped : len(new) - kept_tail]
    if max(len(old), len(new)) > MAX_COMPARED_LINES:
        return Snippet("", is_whole=False)
    import difflib  # ruff: ignore[import-outside-top-level] - only changes of files need it, no start does

    lines: list[str] = []
    room = MAX_SNIPPET_BYTES
    for group in difflib.SequenceMatcher(None, old, new, autojunk=True).get_grouped_opcodes(CONTEXT_LINES):
        for line in _hunk(group, old, new, skipped):
            room -= len(line.encode("utf-8", "replace")) + 1
            if room < 0:
                return Snippet("\n".join(lines), is_whole=False)
            lines.append(line)
    return Snippet("\n".join(lines), is_whole=True)


def _hunk(
    group: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str], skipped: int
) -> list[str]:
    first, last = group[0], group[-1]
    lines = [
        f"@@ -{first[1] + skipped + 1},{last[2] - first[1]} +{first[3] + skipped + 1},{last[4] - first[3]} @@"
    ]
    for kind, old_start, old_end, new_start, new_end in group:
        if kind == "equal":
            lines += [f" {line}" for line in old[old_start:old_end]]
        else:
            lines += [f"-{line}" for line in old[old_start:old_end]]
            lines += [f"+{line}" for line in new[new_start:new_end]]
    return lines


def _equal_count(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines are equal from the start on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))

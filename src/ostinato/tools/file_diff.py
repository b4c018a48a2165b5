"""A unified diff for front ends, bounded in time and size: common ends are cut off before the costly comparison."""

import re
from collections.abc import Sequence
from itertools import chain, islice
from typing import Final

from ostinato.tools.line_ends import common_prefix_length, common_suffix_length

CONTEXT_LINES: Final = 3
MAX_COMPARED_LINES: Final = 4000
"""Beyond this the comparison may take seconds; the diff is then one removed and one added block."""

MAX_DIFF_CHARACTERS: Final = 100_000
"""Longer diffs are cut at the end of a line, with a mark."""

NO_LINE_END: Final = "\\ No newline at end of file"

HUNK: Final = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def unified_diff(before: str, after: str, path: str, *, first_line: int = 1) -> str:
    """The difference of two texts with `\\n` line ends; empty when they are equal. `first_line`: where they begin in the file."""
    if before == after:
        return ""
    prefix = common_prefix_length(before, after)
    suffix = min(common_suffix_length(before, after), min(len(before), len(after)) - prefix)
    start, end = lines_around(before, prefix, len(before) - suffix)
    old, new = _lines(before[start:end]), _lines(after[start : len(after) - len(before) + end])
    skipped = before.count("\n", 0, start) + first_line - 1
    lines = _compare(old, new, path)
    text = "\n".join(_moved(line, skipped) if line.startswith("@@") else line for line in lines)
    if len(text) <= MAX_DIFF_CHARACTERS:
        return text
    cut = text.rfind("\n", 0, MAX_DIFF_CHARACTERS)
    return f"{text[: max(cut, 0)]}\n[... diff cut ...]"


def lines_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole lines that a diff shows of a change between two places: their beginning and end."""
    for _ in range(CONTEXT_LINES + 1):
        start = text.rfind("\n", 0, start)
        if start < 0:
            break
    for _ in range(CONTEXT_LINES + 1):
        end = text.find("\n", end) + 1
        if end == 0:
            return start + 1, len(text)
    return start + 1, end


def _lines(text: str) -> list[str]:
    """The lines; a last one without a line end carries the mark that `diff` and `git` give it."""
    *ended, rest = text.split("\n")
    return [*ended, f"{rest}\n{NO_LINE_END}"] if rest else ended


def _compare(old: Sequence[str], new: Sequence[str], path: str) -> list[str]:
    if max(len(old), len(new)) <= MAX_COMPARED_LINES:
        import difflib  # ruff: ignore[import-outside-top-level] - only changes of files need it, no start does

        return list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="", n=CONTEXT_LINES))
    hunk = f"@@ -1,{len(old)} +1,{len(new)} @@"
    removed, added = (f"-{line}" for line in old), (f"+{line}" for line in new)
    shown = islice(chain(removed, added), MAX_DIFF_CHARACTERS)  # each has a character at least
    return [f"--- a/{path}", f"+++ b/{path}", hunk, *shown]


def _moved(hunk: str, skipped: int) -> str:
    return HUNK.sub(
        lambda m: f"@@ -{int(m[1]) + skipped}{m[2] or ''} +{int(m[3]) + skipped}{m[4] or ''} @@", hunk
    )

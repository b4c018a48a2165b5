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


def unified_diff(before: str, after: str, path: str) -> str:
    """The difference of two texts with `\\n` line ends; empty when they are equal."""
    if before == after:
        return ""
    first = _context_before(before, common_prefix_length(before, after))
    left = min(len(before), len(after)) - first
    ends = _context_after(before, min(left, common_suffix_length(before, after)))
    old = _lines(before[first : len(before) - ends])
    new = _lines(after[first : len(after) - ends])
    skipped = before.count("\n", 0, first)
    lines = _compare(old, new, path)
    text = "\n".join(_moved(line, skipped) if line.startswith("@@") else line for line in lines)
    if len(text) <= MAX_DIFF_CHARACTERS:
        return text
    cut = text.rfind("\n", 0, MAX_DIFF_CHARACTERS)
    return f"{text[: max(cut, 0)]}\n[... diff cut ...]"


def _context_before(text: str, place: int) -> int:
    """Where the lines begin that a diff shows before a change at `place`."""
    for _ in range(CONTEXT_LINES + 1):
        place = text.rfind("\n", 0, place)
        if place < 0:
            return 0
    return place + 1


def _context_after(text: str, length: int) -> int:
    """How much of an unchanged end of this length comes after the lines that a diff shows: whole lines."""
    place = len(text) - length
    for _ in range(CONTEXT_LINES + 1):
        place = text.find("\n", place) + 1
        if place == 0:
            return 0
    return len(text) - place


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

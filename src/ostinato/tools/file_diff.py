"""A unified diff for front ends, bounded in time and size: common ends are cut off before the costly comparison."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

CONTEXT_LINES: Final = 3
MAX_COMPARED_LINES: Final = 4000
"""Beyond this the comparison may take seconds; the diff is then one removed and one added block."""

MAX_DIFF_CHARACTERS: Final = 100_000
"""Longer diffs are cut at the end of a line, with a mark."""

NO_LINE_END: Final = "\\ No newline at end of file"

HUNK: Final = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def unified_diff(before: str, after: str, path: str) -> str:
    """The difference of two texts with `\\n` line ends; empty when they are equal."""
    old, new = _lines(before), _lines(after)
    head = _equal_count(old, new)
    tail = _equal_count(old[head:][::-1], new[head:][::-1])
    skipped = max(0, head - CONTEXT_LINES)
    kept_tail = max(0, tail - CONTEXT_LINES)
    old, new = old[skipped : len(old) - kept_tail], new[skipped : len(new) - kept_tail]
    lines = _compare(old, new, path)
    text = "\n".join(_moved(line, skipped) if line.startswith("@@") else line for line in lines)
    if len(text) <= MAX_DIFF_CHARACTERS:
        return text
    cut = text.rfind("\n", 0, MAX_DIFF_CHARACTERS)
    return f"{text[: max(cut, 0)]}\n[... diff cut ...]"


def _lines(text: str) -> list[str]:
    """The lines; a last one without a line end carries the mark that `diff` and `git` give it."""
    *ended, rest = text.split("\n")
    return [*ended, f"{rest}\n{NO_LINE_END}"] if rest else ended


def _equal_count(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines are equal from the start on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _compare(old: Sequence[str], new: Sequence[str], path: str) -> list[str]:
    if max(len(old), len(new)) <= MAX_COMPARED_LINES:
        import difflib  # ruff: ignore[import-outside-top-level] - only changes of files need it, no start does

        return list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="", n=CONTEXT_LINES))
    hunk = f"@@ -1,{len(old)} +1,{len(new)} @@"
    removed, added = (f"-{line}" for line in old), (f"+{line}" for line in new)
    return [f"--- a/{path}", f"+++ b/{path}", hunk, *removed, *added]


def _moved(hunk: str, skipped: int) -> str:
    return HUNK.sub(
        lambda m: f"@@ -{int(m[1]) + skipped}{m[2] or ''} +{int(m[3]) + skipped}{m[4] or ''} @@", hunk
    )

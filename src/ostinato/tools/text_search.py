"""Where a text stands in a file, whichever line ends either has: all that a search with `\\n` for each of them would find.

The file is searched as it is; a text with other line ends is made of it only where nothing else would do.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from ostinato.tools.line_ends import Span, TextWithEnds

PATTERN_COST: Final = 2000
"""A character of a pattern takes as long to compile as so many of a file take to have their line ends replaced."""


def spans_of(text: TextWithEnds, wanted: str, *, are_apart: bool, most: int | None = None) -> list[Span]:
    """All spans of the original that hold `wanted`, which has `\\n` line ends and is not empty, from left to right; of more than `most`
    the first ones.

    `are_apart`: each begins behind the one before it; else they may overlap.
    """
    if not text.has_returns or not ("\n" in wanted or "\r" in wanted):
        return list(islice(plain_spans(text.aligned, wanted, are_apart=are_apart), most))
    if "\r" not in wanted and len(wanted) * PATTERN_COST <= len(text.aligned):
        return list(islice(pattern_spans(text.aligned, wanted, are_apart=are_apart), most))
    return text.original_spans(list(islice(plain_spans(text.normal, wanted, are_apart=are_apart), most)))


def plain_spans(text: str, wanted: str, *, are_apart: bool) -> Iterator[Span]:
    """Where `wanted` stands as it is."""
    length = len(wanted)
    place = text.find(wanted)
    while place >= 0:
        yield place, place + length
        place = text.find(wanted, place + (length if are_apart else 1))


def pattern_spans(text: str, wanted: str, *, are_apart: bool) -> Iterator[Span]:
    """Where `wanted`, which holds no `\\r`, stands with `\\n` or `\\r\\n` for each of its line ends.

    A pattern is slower than a plain search: it looks only from the first place of the longest line to the last one. A line end at its
    beginning is searched for without `\\r`: patterns that begin with a character that must be there are several times as quick.
    """
    longest = max(wanted.split("\n"), key=len) or "\n"
    first, room = text.find(longest), 2 * len(wanted)
    if first < 0:
        return
    place, end = max(0, first - room), text.rfind(longest) + room
    pattern = re.compile(r"\r?\n".join(re.escape(line) for line in wanted.split("\n")).removeprefix(r"\r?"))
    while found := pattern.search(text, place, end):
        start, behind = found.span()
        is_pair = text[start] == "\n" and text.endswith("\r", 0, start)
        yield start - is_pair, behind
        place = behind if are_apart else start + 1

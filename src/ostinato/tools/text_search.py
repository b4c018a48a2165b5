"""Where a text stands in a file, whichever line ends either has: all that a search with `\\n` for each of them would find.

The file is searched as it is; a text with other line ends is made of it only where nothing else would do. However much a file repeats
itself, that takes no longer.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from ostinato.tools.line_ends import Span, TextWithEnds, further, without_pairs

MAX_ANCHORS: Final = 100
"""Around so many places a file is looked at; where a line stands in more, another one may be rarer."""

MAX_TRIED_LINES: Final = 3
"""Each is searched for in the whole file, at the speed of memory."""


class Anchor(msgspec.Struct, frozen=True):
    """A line of a text that stands in few places of a file: what is before it in the text, the line, what is behind it, and the places."""

    before: str
    line: str
    behind: str
    places: Sequence[int]


def spans_of(text: TextWithEnds, wanted: str, *, are_apart: bool, most: int | None = None) -> list[Span]:
    """All spans of the original that hold `wanted`, which has `\\n` line ends and is not empty, from left to right; of more than `most`
    the first ones.

    `are_apart`: each begins behind the one before it; else they may overlap.
    """
    if not text.has_returns or not ("\n" in wanted or "\r" in wanted):
        return list(islice(plain_spans(text.aligned, wanted, are_apart=are_apart), most))
    anchor = None if "\r" in wanted else anchor_in(text.aligned, wanted)
    if anchor is not None:
        return list(islice(anchored_spans(text.aligned, anchor, are_apart=are_apart), most))
    return text.original_spans(list(islice(plain_spans(text.normal, wanted, are_apart=are_apart), most)))


def plain_spans(text: str, wanted: str, *, are_apart: bool) -> Iterator[Span]:
    """Where `wanted` stands as it is."""
    length = len(wanted)
    place = text.find(wanted)
    while place >= 0:
        yield place, place + length
        place = text.find(wanted, place + (length if are_apart else 1))


def anchor_in(text: str, wanted: str) -> Anchor | None:
    """By one of the longest lines of `wanted`; None where all of them stand in many places."""
    lines = sorted(set(filter(None, wanted.split("\n"))), key=lambda line: (-len(line), line))
    for line in lines[:MAX_TRIED_LINES]:
        spans = islice(plain_spans(text, line, are_apart=False), MAX_ANCHORS + 1)
        places = [start for start, _ in spans]
        if len(places) <= MAX_ANCHORS:
            before, _, behind = f"\n{wanted}\n".partition(f"\n{line}\n")
            return Anchor(f"{before}\n"[1:], line, f"\n{behind}"[:-1], places)
    return None


def anchored_spans(text: str, anchor: Anchor, *, are_apart: bool) -> Iterator[Span]:
    """Where all of the anchor stands, with `\\n` or `\\r\\n` for each of its line ends; it holds no `\\r`."""
    done = 0
    for place in anchor.places:
        line_end = place + len(anchor.line)
        if _stands_behind(text, line_end, anchor.behind) and _stands_before(text, place, anchor.before):
            start = _back(text, place, len(anchor.before))
            if start >= done:
                end = further(text, line_end, len(anchor.behind))
                done = end if are_apart else 0
                yield start, end


def _stands_behind(text: str, place: int, wanted: str) -> bool:
    """Each character of `wanted` takes up two of the text at most."""
    return without_pairs(text[place : place + 2 * len(wanted)]).startswith(wanted)


def _stands_before(text: str, place: int, wanted: str) -> bool:
    return without_pairs(text[max(0, place - 2 * len(wanted)) : place]).endswith(wanted)


def _back(text: str, place: int, length: int) -> int:
    """The place that is `length` characters before where each `\\r\\n` counts as one; `place` is not inside one."""
    found, goal = place, place - length
    while goal < found:
        found, goal = goal, place - length - text.count("\r\n", max(0, goal - 1), place)
    return goal

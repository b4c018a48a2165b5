"""Text with its line ends set aside: matched with `\\n` only, changed so that every byte outside the change stays.

New lines take the ends of the lines around them; nothing is decided for the file as a whole.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

LINE_END: Final = re.compile(r"\n")

Span = tuple[int, int]
"""Start and end in `TextWithEnds.normal`."""


class TextWithEnds(msgspec.Struct, frozen=True):
    """`original` as decoded, `normal` with `\\n` for each line end.

    `carriage_returns` holds the places in `normal` whose line end is `\\r\\n`. `is_classic`: every line ends with `\\r`
    alone; in all other files a `\\r` alone is a character like any other.
    """

    original: str
    normal: str
    carriage_returns: tuple[int, ...]
    is_classic: bool

    def normalise(self, text: str) -> str:
        """`text` as it would stand in `normal`."""
        text = text.replace("\r\n", "\n")
        return text.replace("\r", "\n") if self.is_classic else text

    def replaced(self, spans: Sequence[Span], new: str) -> str:
        """The original with `new` in place of each of the spans (in order, apart)."""
        pieces: list[str] = []
        done = 0
        for span in spans:
            start, end, middle = self._change(*span, new)
            pieces += (self.original[done : self._original_place(start)], middle)
            done = self._original_place(end)
        return "".join((*pieces, self.original[done:]))

    def line_of(self, place: int) -> int:
        """The line number, from 1, of a place in `normal`."""
        return self.normal.count("\n", 0, place) + 1

    def _original_place(self, place: int) -> int:
        return place + bisect_left(self.carriage_returns, place)

    def _change(self, start: int, end: int, new: str) -> tuple[int, int, str]:
        """The smallest span that differs, and what stands there afterwards, with line ends."""
        if "\n" not in self.normal:
            return start, end, new
        old, new = self.normal[start:end], self.normalise(new)
        before = common_prefix_length(old, new)
        after = common_suffix_length(old[before:], new[before:])
        start, end = start + before, end - after
        ends = self._ends_for(start, end, new[before : len(new) - after].count("\n"))
        lines = new[before : len(new) - after].split("\n")
        return start, end, "".join(part for pair in zip(lines, (*ends, ""), strict=True) for part in pair)

    def _ends_for(self, start: int, end: int, count: int) -> list[str]:
        old_breaks = [found.start() for found in LINE_END.finditer(self.normal, start, end)]
        if len(old_breaks) == count:
            return [self._end_at(place) for place in old_breaks]
        following = self.normal.find("\n", start)
        place = following if following >= 0 else self.normal.rfind("\n", 0, start)
        return [self._end_at(place)] * count

    def _end_at(self, place: int) -> str:
        if self.is_classic:
            return "\r"
        index = bisect_left(self.carriage_returns, place)
        is_pair = index < len(self.carriage_returns) and self.carriage_returns[index] == place
        return "\r\n" if is_pair else "\n"


def text_with_ends(original: str) -> TextWithEnds:
    """Set the line ends of a decoded file aside."""
    if "\n" not in original:
        return TextWithEnds(original, original.replace("\r", "\n"), (), "\r" in original)
    places: list[int] = []
    place = original.find("\r\n")
    while place >= 0:
        places.append(place - len(places))
        place = original.find("\r\n", place + 2)
    return TextWithEnds(original, original.replace("\r\n", "\n"), tuple(places), is_classic=False)


def common_prefix_length(one: str, other: str) -> int:
    """By halving: slices compare at the speed of memory."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix_length(one: str, other: str) -> int:
    """Likewise, from the ends."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def line_starts(normal: str) -> list[int]:
    """Where each line of a text with `\\n` ends begins, and behind the last one its end plus one."""
    starts = [0]
    for line in normal.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def line_spans(normal: str) -> list[Span]:
    """Start and end of each line, the end without its `\\n`."""
    return [(start, following - 1) for start, following in pairwise(line_starts(normal))]

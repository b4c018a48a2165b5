"""Text with its line ends set aside: matched with `\\n` only, changed so that every byte outside the change stays.

New lines take the ends of the lines around them; nothing is decided for the file as a whole.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal

import msgspec

LINE_END: Final = re.compile(r"\n")

COMPARED: Final = 1 << 16

Span = tuple[int, int]
"""Start and end in `TextWithEnds.normal`."""


class Change(msgspec.Struct, frozen=True):
    """One span and what stands there afterwards: in the original, with the line ends that belong there, and in `normal`."""

    start: int
    end: int
    middle: str
    normal_start: int
    normal_end: int
    normal_middle: str


class TextWithEnds(msgspec.Struct, frozen=True):
    """`original` as decoded, `normal` with `\\n` for each line end.

    `pairs` says where the line end is `\\r\\n`: at `all`, at `none` (there is no `\\r` at all), or at these places in `normal`.
    `is_classic`: every line ends with `\\r` alone; in all other files a `\\r` alone is a character like any other.
    """

    original: str
    normal: str
    pairs: Literal["all", "none"] | tuple[int, ...] = "none"
    is_classic: bool = False

    def normalise(self, text: str) -> str:
        """`text` as it would stand in `normal`."""
        text = text.replace("\r\n", "\n")
        return text.replace("\r", "\n") if self.is_classic else text

    def changes(self, spans: Sequence[Span], new: str) -> tuple[Change, ...]:
        """`new` in place of each of the spans (in order, apart): what that changes, and no more."""
        found: list[Change] = []
        normal_place = place = 0
        for span in spans:
            start, end, middle, normal_middle = self._change(*span, new)
            first = place + self._original_length(normal_place, start)
            place = first + self._original_length(start, end)
            normal_place = end
            found.append(Change(first, place, middle, start, end, normal_middle))
        return tuple(found)

    def changed(self, changes: Sequence[Change]) -> "TextWithEnds":
        """The text afterwards."""
        original = spliced(self.original, [(c.start, c.end, c.middle) for c in changes])
        is_regular = isinstance(self.pairs, str) and not self.is_classic
        if not is_regular or any("\r" in c.normal_middle for c in changes):
            return text_with_ends(original)
        if self.pairs == "none":
            return TextWithEnds(original, original)
        normal = spliced(self.normal, [(c.normal_start, c.normal_end, c.normal_middle) for c in changes])
        return TextWithEnds(original, normal, self.pairs)

    def replaced(self, spans: Sequence[Span], new: str) -> str:
        """The original with `new` in place of each of the spans."""
        return spliced(self.original, [(c.start, c.end, c.middle) for c in self.changes(spans, new)])

    def line_of(self, place: int) -> int:
        """The line number, from 1, of a place in `normal`."""
        return self.normal.count("\n", 0, place) + 1

    def _original_length(self, start: int, end: int) -> int:
        """How long a part of `normal` is in the original."""
        if self.pairs == "none":
            return end - start
        if self.pairs == "all":
            return end - start + self.normal.count("\n", start, end)
        return end - start + bisect_left(self.pairs, end) - bisect_left(self.pairs, start)

    def _change(self, start: int, end: int, new: str) -> tuple[int, int, str, str]:
        """The smallest span that differs, and what stands there afterwards, with line ends and without."""
        if "\n" not in self.normal:
            return start, end, new, new
        old, new = self.normal[start:end], self.normalise(new)
        before = common_prefix_length(old, new)
        after = common_suffix_length(old[before:], new[before:])
        start, end, new = start + before, end - after, new[before : len(new) - after]
        if "\n" not in new:
            return start, end, new, new
        ends = self._ends_for(start, end, new.count("\n"))
        lines = new.split("\n")
        middle = "".join(part for pair in zip(lines, (*ends, ""), strict=True) for part in pair)
        return start, end, middle, new

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
        if isinstance(self.pairs, str):
            return "\r\n" if self.pairs == "all" else "\n"
        index = bisect_left(self.pairs, place)
        return "\r\n" if index < len(self.pairs) and self.pairs[index] == place else "\n"


def text_with_ends(original: str) -> TextWithEnds:
    """Set the line ends of a decoded file aside."""
    if "\r" not in original:
        return TextWithEnds(original, original)
    if "\n" not in original:
        return TextWithEnds(original, original.replace("\r", "\n"), (), is_classic=True)
    normal = original.replace("\r\n", "\n")
    if "\r" not in normal and len(original) - len(normal) == normal.count("\n"):
        return TextWithEnds(original, normal, "all")
    places: list[int] = []
    place = original.find("\r\n")
    while place >= 0:
        places.append(place - len(places))
        place = original.find("\r\n", place + 2)
    return TextWithEnds(original, normal, tuple(places))


def spliced(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """`text` with something else in place of each span (start, end; in order, apart)."""
    pieces: list[str] = []
    done = 0
    for start, end, middle in spans:
        pieces += (text[done:start], middle)
        done = end
    return "".join((*pieces, text[done:]))


def common_prefix_length(one: str, other: str) -> int:
    """Piece by piece, then by halving: slices compare at the speed of memory."""
    shorter = min(len(one), len(other))
    low = 0
    while low < shorter and one[low : low + COMPARED] == other[low : low + COMPARED]:
        low += COMPARED
    low, high = min(low, shorter), min(low + COMPARED, shorter)
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix_length(one: str, other: str) -> int:
    """Likewise, from the ends."""
    shorter = min(len(one), len(other))
    low = 0
    while low + COMPARED <= shorter and _end(one, low, COMPARED) == _end(other, low, COMPARED):
        low += COMPARED
    high = min(low + COMPARED, shorter)
    while low < high:
        middle = (low + high + 1) // 2
        if _end(one, low, middle - low) == _end(other, low, middle - low):
            low = middle
        else:
            high = middle - 1
    return low


def _end(text: str, behind: int, length: int) -> str:
    """So many characters before the last `behind` ones."""
    return text[len(text) - behind - length : len(text) - behind]


def line_starts(normal: str) -> list[int]:
    """Where each line of a text with `\\n` ends begins, and behind the last one its end plus one."""
    starts = [0]
    for line in normal.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def line_spans(normal: str) -> list[Span]:
    """Start and end of each line, the end without its `\\n`."""
    return [(start, following - 1) for start, following in pairwise(line_starts(normal))]

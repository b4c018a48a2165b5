"""A file's text, changed so that every byte outside the change stays: new lines take the ends of the lines around them.

Nothing is decided for the file as a whole, and no second text with other line ends is made unless somebody asks for it:
for the largest files that would cost more than all the rest of an edit.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

import msgspec

LINE_END: Final = re.compile(r"\n")

COMPARED: Final = 1 << 16

Span = tuple[int, int]
"""Start and end of a part of `TextWithEnds.original`, unless something else is said. No span parts a `\\r` from its `\\n`."""


class Change(msgspec.Struct, frozen=True):
    """One span and what stands there afterwards: with the line ends that belong there, and with `\\n` for each."""

    start: int
    end: int
    middle: str
    normal_middle: str


class TextWithEnds(msgspec.Struct, frozen=True, dict=True):
    """`original` as decoded. `dict` holds what was once asked for.

    `is_classic`: every line ends with `\\r` alone; in all other files a `\\r` alone is a character like any other.
    `aligned` has `\\n` for each of those and is else the original: places are the same, and a line's last character is `\\n`.
    `has_returns`: there is a `\\r` in `aligned`.
    """

    original: str
    aligned: str
    has_returns: bool = False
    is_classic: bool = False

    @cached_property
    def normal(self) -> str:
        """The text with `\\n` for each line end."""
        return without_pairs(self.aligned) if self.has_returns else self.aligned

    def normalise(self, text: str) -> str:
        """`text` as it would stand in `normal`."""
        text = without_pairs(text)
        return text.replace("\r", "\n") if self.is_classic else text

    def original_spans(self, spans: Sequence[Span]) -> list[Span]:
        """Spans of `normal`, in the order of their starts, as spans of the original."""
        found: list[Span] = []
        normal_place = place = 0
        for start, end in spans:
            place = further(self.aligned, place, start - normal_place)
            normal_place = start
            found.append((place, further(self.aligned, place, end - start)))
        return found

    def changes(self, spans: Sequence[Span], new: str) -> tuple[Change, ...]:
        """`new` in place of each of the spans (in order, apart): what that changes, and no more."""
        return tuple(self._change(start, end, new) for start, end in spans)

    def changed(self, changes: Sequence[Change]) -> "TextWithEnds":
        """The text afterwards."""
        return text_with_ends(spliced(self.original, [(c.start, c.end, c.middle) for c in changes]))

    def replaced(self, spans: Sequence[Span], new: str) -> str:
        """The original with `new` in place of each of the spans."""
        return spliced(self.original, [(c.start, c.end, c.middle) for c in self.changes(spans, new)])

    def line_of(self, place: int) -> int:
        """The line number, from 1, of a place."""
        return self.aligned.count("\n", 0, place) + 1

    def _change(self, start: int, end: int, new: str) -> Change:
        """The smallest span that differs, and what stands there afterwards."""
        if "\n" not in self.aligned:
            return Change(start, end, new, new)
        replaced = self.aligned[start:end]
        old, new = without_pairs(replaced), self.normalise(new)
        before = common_prefix_length(old, new)
        after = common_suffix_length(old[before:], new[before:])
        end = start + further(replaced, 0, len(old) - after)
        start += further(replaced, 0, before)
        new = new[before : len(new) - after]
        return Change(start, end, self._with_ends(start, end, new), new)

    def _with_ends(self, start: int, end: int, new: str) -> str:
        """`new` with the line ends that belong between these places."""
        first, *lines = new.split("\n")
        ends = self._ends_for(start, end, len(lines))
        return first + "".join(part for pair in zip(ends, lines, strict=True) for part in pair)

    def _ends_for(self, start: int, end: int, count: int) -> list[str]:
        if count == 0:
            return []
        old_breaks = [found.start() for found in LINE_END.finditer(self.aligned, start, end)]
        if len(old_breaks) == count:
            return [self._end_at(place) for place in old_breaks]
        following = self.aligned.find("\n", start)
        place = following if following >= 0 else self.aligned.rfind("\n", 0, start)
        return [self._end_at(place)] * count

    def _end_at(self, place: int) -> str:
        """The line end whose last character stands there."""
        if self.is_classic:
            return "\r"
        return "\r\n" if self.aligned.endswith("\r", 0, place) else "\n"


def text_with_ends(original: str) -> TextWithEnds:
    """Look at the line ends of a decoded file."""
    if "\r" not in original:
        return TextWithEnds(original, original)
    if "\n" not in original:
        return TextWithEnds(original, original.replace("\r", "\n"), is_classic=True)
    return TextWithEnds(original, original, has_returns=True)


def without_pairs(text: str) -> str:
    """`\\n` for each `\\r\\n`."""
    return text.replace("\r\n", "\n")


def further(text: str, place: int, length: int) -> int:
    """The place that is `length` characters further where each `\\r\\n` counts as one; `place` is not inside one.

    Each pair that was passed moves the goal, and further ones may stand before that: until no more are found.
    """
    counted, goal = place, place + length
    while counted < goal:
        counted, goal = goal, goal + text.count("\r\n", counted, goal + 1)
    return goal


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

"""A change differs exactly where it was asked for; new lines look like their neighbours."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.tools.line_ends import text_with_ends

PIECES = st.sampled_from(["a", "b", "\n", "\r\n", "\r", "\u2028", "\x0c", "漢"])
TEXTS = st.lists(PIECES, max_size=25).map("".join)


@settings(deadline=None)
@given(TEXTS, TEXTS, st.data())
def test_everything_before_and_behind_the_span_stays(original: str, new: str, data: st.DataObject):
    text = text_with_ends(original)
    start = data.draw(st.integers(0, len(text.normal)))
    end = data.draw(st.integers(start, len(text.normal)))
    ((before, last),) = text.original_spans([(start, end)])
    assert (before, last) == (len(text_prefix(original, start)), len(text_prefix(original, end)))
    changed = text.replaced([(before, last)], new)
    behind = original[last:]
    assert changed.startswith(original[:before])
    assert changed.endswith(behind)
    middle = changed[before : len(changed) - len(behind)]
    assert without_ends(middle, text.is_classic) == without_ends(new, text.is_classic)


@settings(deadline=None)
@given(TEXTS, TEXTS, st.data())
def test_the_text_afterwards_is_what_its_original_says(original: str, new: str, data: st.DataObject):
    text = text_with_ends(original)
    places = sorted(data.draw(st.lists(st.integers(0, len(text.normal)), min_size=2, max_size=4)))
    spans = text.original_spans(list(zip(places[::2], places[1::2], strict=False)))
    changed = text.changed(text.changes(spans, new))
    again = text_with_ends(text.replaced(spans, new))
    assert (changed.original, changed.normal) == (again.original, again.normal)


def without_ends(text: str, is_classic: bool) -> str:
    """A carriage return before a line end says nothing; which one is there is for the examples below."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if is_classic else text.replace("\r", "")


def text_prefix(original: str, normal_length: int) -> str:
    """The beginning of the original that stands for so many normal characters, counted the slow way."""
    units = re.findall(r"\r\n|[\s\S]", original) if "\n" in original else list(original)
    return "".join(units[:normal_length])


@pytest.mark.parametrize(
    ("original", "old", "new", "expected"),
    [
        ("a\r\nb\r\nc\r\n", "b", "B\nB2", "a\r\nB\r\nB2\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "a\nb", "a\nX\nb", "a\r\nX\r\nb\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "c", "C", "a\r\nb\nC\r\n"),
        ("a\r\nb\nc\r\n", "b", "b\nb2", "a\r\nb\nb2\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "A\nB\nC", "A\r\nB\nC\r\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "a\nb\nX\nc", "a\r\nb\nX\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nc\n", "a\r\nc\r\n"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("a\rb\rc", "b", "b\nx", "a\rb\rx\rc"),
        ("a\u2028b\x0c\nc", "c", "d\ne", "a\u2028b\x0c\nd\ne"),
        ("one", "one", "one\r\ntwo", "one\r\ntwo"),
        ("a\nb\n", "b", "x\r\ny", "a\nx\ny\n"),
        ("a\nb\n", "b", "x\ry", "a\nx\ry\n"),
        ("a\r\nb\r\n", "b\n", "", "a\r\n"),
    ],
)
def test_line_ends_by_example(original: str, old: str, new: str, expected: str):
    text = text_with_ends(original)
    start = text.normal.index(old)
    assert text.replaced(text.original_spans([(start, start + len(old))]), new) == expected


def test_several_spans_are_replaced_in_one_go():
    text = text_with_ends("x\r\nx\nx")
    assert text.replaced([(0, 1), (3, 4), (5, 6)], "y\nz") == "y\r\nz\r\ny\nz\ny\nz"

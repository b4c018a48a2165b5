"""Whichever line ends a file has, an edit finds, changes, refuses and shows what it would in a file with `\\n` for each of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tools.whole_text_edit import as_in, edited_whole, normal_of, places_of, units_of

from ostinato.tools.edit_match import NotMatched
from ostinato.tools.edit_steps import Edited, EditStep, apply_steps
from ostinato.tools.line_ends import text_with_ends
from ostinato.tools.text_encoding import UTF_8, TextEncoding
from ostinato.tools.text_search import anchor_in, anchored_spans, spans_of

PIECES = ["a", "b", "ab", "  ", "\n", "\r\n", "\r", "漢"]
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=20).map("".join)
KINDS = st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\r\n", "\r"]])
FILES = KINDS.flatmap(
    lambda ends: st.lists(st.sampled_from(["a", "b", "ab", "  ", *ends, *ends]), min_size=1, max_size=20)
).map("".join)
"""Most files have one kind of line end, others two or all of them."""

CUTS = st.tuples(st.integers(0, 30), st.integers(1, 8))
ENCODINGS = st.sampled_from([
    UTF_8,
    TextEncoding("utf-8", b"\xef\xbb\xbf"),
    TextEncoding("utf-16-le", b"\xff\xfe"),
])


def cut_from(original: str, cut: tuple[int, int]) -> str:
    """A part of the file as a model would write it: `\\n` for each line end; never empty."""
    start, length = cut
    normal = normal_of(original)
    start %= len(normal)
    return normal[start : start + length]


def apply(
    original: str, step: EditStep, encoding: TextEncoding = UTF_8, *, forgiving: bool = False
) -> Edited | NotMatched:
    text = text_with_ends(original)
    return apply_steps(encoding.encode(original), text, encoding, [step], forgiving=forgiving)


@given(FILES, st.one_of(CUTS, TEXTS), TEXTS, st.booleans(), ENCODINGS)
def test_the_file_afterwards_is_what_setting_all_line_ends_aside_would_make_of_it(
    original: str, wanted: tuple[int, int] | str, new: str, replace_all: bool, encoding: TextEncoding
):
    old = wanted if isinstance(wanted, str) else cut_from(original, wanted)
    expected = edited_whole(original, old, new, replace_all=replace_all)
    edited = apply(original, EditStep(old, new, replace_all), encoding)
    if expected is None:
        assert isinstance(edited, NotMatched)
    else:
        assert isinstance(edited, Edited)
        assert encoding.decode(edited.data) == expected


@given(FILES, st.one_of(CUTS, TEXTS), st.booleans())
def test_every_place_is_found(original: str, wanted: tuple[int, int] | str, are_apart: bool):
    old = as_in(original, wanted if isinstance(wanted, str) else cut_from(original, wanted))
    units = units_of(original)
    expected = [
        (len("".join(units[:place])), len("".join(units[: place + len(old)])))
        for place in places_of(normal_of(original), old, are_apart=are_apart)
    ]
    assert spans_of(text_with_ends(original), old, are_apart=are_apart) == expected
    if "\r" not in old and "\n" in original and (anchor := anchor_in(original, old)):
        assert list(anchored_spans(original, anchor, are_apart=are_apart)) == expected


LINES = st.lists(st.sampled_from(["a", "b", " a", "\ta", "  b", ""]), min_size=2, max_size=8)


@given(LINES, st.data(), CUTS, LINES, st.booleans(), st.booleans())
def test_what_is_said_and_shown_does_not_depend_on_the_line_ends(
    lines: list[str],
    data: st.DataObject,
    cut: tuple[int, int],
    new_lines: list[str],
    replace_all: bool,
    forgiving: bool,
):
    normal = "\n".join(lines)
    count = len(lines) - 1
    ends = data.draw(
        st.one_of(
            st.just(["\r"] * count), st.lists(st.sampled_from(["\n", "\r\n"]), min_size=count, max_size=count)
        )
    )
    original = "".join(f"{line}{end}" for line, end in zip(lines, [*ends, ""], strict=True))
    old = data.draw(st.one_of(st.just(cut_from(original, cut)), LINES.map("\n".join).filter(bool)))
    step = EditStep(old, "\n".join(new_lines), replace_all)
    one, other = apply(original, step, forgiving=forgiving), apply(normal, step, forgiving=forgiving)
    assert said_and_shown(one) == said_and_shown(other)


def said_and_shown(edited: Edited | NotMatched) -> object:
    if isinstance(edited, NotMatched):
        return edited
    return edited.accounts, edited.before, edited.after, edited.first_line


def test_a_place_with_each_kind_of_line_end_makes_two_places():
    refused = apply("x\r\ny\r\nx\ny\n", EditStep("x\ny", "z"))
    assert isinstance(refused, NotMatched)
    assert "2 times, at lines 1, 3;" in refused.reason
    edited = apply("x\r\ny\r\nx\ny\n", EditStep("x\ny", "z\nz", replace_all=True))
    assert isinstance(edited, Edited)
    assert edited.data.decode() == "z\r\nz\r\nz\nz\n"


@pytest.mark.parametrize(
    ("old", "new"), [("one", "two"), ("a\none\n", "a\ntwo\n"), ("\none", "\ntwo\nthree"), ("one\n", "")]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_is_not_made_a_second_time_with_other_line_ends(old: str, new: str, end: str):
    original = f"a{end}one{end}b{end}"
    text = text_with_ends(original)
    edited = apply_steps(original.encode(), text, UTF_8, [EditStep(old, new)], forgiving=True)
    assert isinstance(edited, Edited)
    assert edited.data.decode() == edited_whole(original, old, new, replace_all=False)
    assert "normal" not in vars(text)


@pytest.mark.parametrize("wanted", ["\r", "a\r", "b\na\r", "\ra"])
def test_half_a_line_end_is_found_nowhere(wanted: str):
    assert spans_of(text_with_ends("b\r\na\r\nb\n"), wanted, are_apart=False) == []

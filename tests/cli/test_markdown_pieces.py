"""Streamed Markdown is cut where nothing can change any more, however the network cut it; nothing of it is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.cli.markdown_pieces import MIN_CODE_LINES, MarkdownPieces, Piece

LINES = st.sampled_from([
    "",
    "word",
    "two words",
    "# title",
    "---",
    "===",
    "- item",
    "  - inner",
    "1. one",
    "1. again",
    "7. seven",
    "   deeper",
    "> said",
    "```",
    "```python",
    "  ```",
    "~~~",
    "| a | b |",
    "|---|---|",
    "    four",
    "[1]: http://x.y",
    "*",
    "中文 \u0301",
    "<b>",
    "\u2028",
])
TEXTS = st.lists(LINES, max_size=25).map("\n".join)


def pieces_of(text: str, sizes: list[int] | None = None) -> list[Piece]:
    """The pieces of a text that comes in parts of these sizes, then in one."""
    cutter, pieces = MarkdownPieces(), list[Piece]()
    for size in sizes or []:
        pieces += cutter.feed(text[:size])
        text = text[size:]
    return [*pieces, *cutter.feed(text), *cutter.end()]


def letters(text: str) -> str:
    return re.sub(r"[^\w<>\[\]|]", "", text)


@given(text=TEXTS, sizes=st.lists(st.integers(min_value=1, max_value=7), max_size=80))
def test_how_it_arrives_changes_nothing(text: str, sizes: list[int]):
    assert pieces_of(text, sizes) == pieces_of(text)


@given(text=TEXTS)
def test_nothing_is_lost_or_said_twice(text: str):
    pieces = pieces_of(text)
    shown = "".join(piece.source for piece in pieces)
    named = "".join(piece.language or "" for piece in pieces if not piece.before and piece.has_gap)
    assert sorted(letters(shown) + letters(named)) == sorted(letters(text))


@given(text=TEXTS, size=st.integers(min_value=0, max_value=200))
def test_what_is_given_out_and_the_tail_are_all_that_came(text: str, size: int):
    cutter = MarkdownPieces()
    given_out = cutter.feed(text[:size])
    tail = cutter.tail
    shown = "".join(piece.source for piece in given_out) + (tail.source if tail else "")
    named = "".join(
        piece.language or ""
        for piece in (*given_out, *([tail] if tail else []))
        if not piece.before and piece.has_gap
    )
    assert sorted(letters(shown) + letters(named)) == sorted(letters(text[:size]))


def test_a_block_is_given_out_when_the_next_one_begins():
    cutter = MarkdownPieces()
    assert cutter.feed("first\nstill first\n\n") == []
    assert cutter.feed("second\n") == [Piece("first\nstill first")]
    assert cutter.tail == Piece("second\n")


def test_a_heading_under_its_line_is_not_cut_in_two():
    assert pieces_of("title\n-----\n\nafter") == [Piece("title\n-----"), Piece("after")]


def test_the_items_of_a_list_come_one_by_one_with_the_gaps_and_numbers_they_had():
    pieces = pieces_of("1. a\n1. b\n\n1. c\n\n   more\n1. d\n7. e\n\npast\n\n1. f")
    assert [(piece.number, piece.has_gap) for piece in pieces] == [
        (1, True),
        (2, False),
        (3, True),
        (4, False),
        (7, False),
        (None, True),
        (1, True),
    ]


def test_code_comes_in_parts_that_know_what_was_before():
    cutter = MarkdownPieces()
    lines = [f"x = {number}\n" for number in range(MIN_CODE_LINES + 1)]
    first, *rest = cutter.feed("text\n```python\n" + "".join(lines))[1:]
    assert (first.source, first.language, first.has_gap) == ("".join(lines[:-1]), "python", True)
    assert rest == []
    last = cutter.feed("```\nafter")
    assert last == [Piece(lines[-1], has_gap=False, language="python", before="".join(lines[:-1]))]


@pytest.mark.parametrize("text", ["- a\n  ```\n  code\n  ```\n- b", "> ```\n> code\n> ```\n\nb"])
def test_code_inside_a_list_or_quotation_stays_there(text: str):
    assert [piece.language for piece in pieces_of(text)] == [None, None]


def test_a_fence_that_is_never_closed_loses_nothing():
    assert pieces_of("```\na\nb")[0].source == "a\nb"


def test_a_long_block_is_not_read_again_after_every_line():
    """800 table rows: reading all of them after each took half a minute."""
    rows = "| a | b |\n|---|---|\n" + "| cell | cell |\n" * 800
    assert [piece.source for piece in pieces_of(rows)] == [rows.strip("\n")]

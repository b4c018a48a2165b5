"""Pastes in a line: one character each while it is edited, whole when it is sent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.layout.processors import TransformationInput

from ostinato.cli.folded import folded
from ostinato.cli.pasted_text import MAX_CHARACTERS, MAX_KEPT, MAX_KEPT_CHARACTERS, PastedTexts, PasteMarkers

LONG = "\n".join(f"line {number}" for number in range(40))


@pytest.mark.parametrize("text", ["short", "two\nlines", "", "中文"])
def test_a_short_paste_is_itself(text: str):
    assert PastedTexts().inserted(text) == text


@pytest.mark.parametrize("text", [LONG, "x" * (MAX_CHARACTERS + 1), "a\r\nb" * 20, "\U00100000"])
def test_a_long_paste_is_one_character_and_comes_back_whole(text: str):
    pastes = PastedTexts()
    inserted = pastes.inserted(text)
    assert len(inserted) == 1
    assert pastes.expanded(f"a {inserted} b") == f"a {text} b".replace("\r\n", "\n")


def test_the_marker_says_what_it_stands_for():
    pastes = PastedTexts()
    first, second = pastes.inserted(LONG), pastes.inserted("x" * 2_000)
    assert pastes.marked(f"{first}{second}") == "[pasted #1: 40 lines][pasted #2: 2,000 characters]"


@given(st.lists(st.sampled_from([LONG, "中", "a", " ", "👨\u200d👩"]), max_size=20))
def test_the_cursor_stands_where_the_text_is(parts: list[str]):
    pastes = PastedTexts()
    line = "".join(map(pastes.inserted, parts))
    control = BufferControl(Buffer(document=Document(line)))
    shown: Any = PasteMarkers(pastes).apply_transformation(
        TransformationInput(control, Document(line), 0, lambda place: place, [("", line)], 80, 1)
    )
    assert "".join(fragment[1] for fragment in shown.fragments) == pastes.marked(line)
    for place in range(len(line) + 1):
        assert shown.source_to_display(place) == len(pastes.marked(line[:place]))
        assert shown.display_to_source(shown.source_to_display(place)) == place


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (4, 4), (5, 4), (100, 4)])
def test_folding_never_takes_more_room_than_it_saves(count: int, shown: int):
    lines = [str(number) for number in range(count)]
    assert len(folded(lines, 2, 1)) == shown


def test_old_pastes_of_sent_lines_are_forgotten_and_those_in_the_line_never():
    pastes = PastedTexts()
    edited = pastes.inserted(LONG)
    lines = [pastes.inserted(f"{LONG}{number}") for number in range(2 * MAX_KEPT)]
    pastes.forget_old(edited)
    assert pastes.expanded(edited) == LONG
    assert [pastes.marker(line) != "" for line in lines].count(True) == MAX_KEPT - 1
    assert pastes.expanded(lines[-1]) == f"{LONG}{2 * MAX_KEPT - 1}"
    assert pastes.inserted(LONG) not in {edited, *lines}


def test_few_but_huge_pastes_are_forgotten_too():
    pastes = PastedTexts()
    first = pastes.inserted("x" * MAX_KEPT_CHARACTERS)
    second = pastes.inserted("y" * MAX_CHARACTERS * 2)
    pastes.forget_old("")
    assert (pastes.marker(first), pastes.marker(second)) == ("", "[pasted #2: 2,000 characters]")

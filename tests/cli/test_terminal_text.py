"""Text of others never acts on a terminal: no escape, no control character, in one piece or cut anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.cli.terminal_text import TerminalText, terminal_text

SEQUENCES = {
    "colour": "\x1b[31m",
    "cursor": "\x1b[2J\x1b[1;1H",
    "report": "\x1b[6n",
    "private": "\x1b[?1049h",
    "title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;ZXZpbA==\x1b\\",
    "link": "\x1b]8;;https://evil\x1b\\",
    "device": "\x1bP+q544e\x1b\\",
    "application": "\x1b_x\x1b\\",
    "privacy": "\x1b^x\x1b\\",
    "start of string": "\x1bXx\x1b\\",
    "reset": "\x1bc",
    "charset": "\x1b(0",
    "eight-bit colour": "\x9b31m",
    "eight-bit title": "\x9d0;owned\x9c",
    "eight-bit device": "\x90q\x9c",
    "bell and back": "\x07\x08\x0b\x0c\x0e\x7f\x85",
    "carriage return": "\r",
}


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
def test_a_sequence_is_gone_and_the_text_around_it_stays(sequence: str):
    assert terminal_text(f"before{sequence}after\tand\nmore") == "beforeafter\tand\nmore"


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
def test_a_sequence_cut_in_two_is_still_one(sequence: str):
    text = f"a{sequence}b"
    for place in range(len(text) + 1):
        stream = TerminalText()
        assert stream.feed(text[:place]) + stream.feed(text[place:]) == "ab"


def test_an_unterminated_sequence_swallows_no_more_than_its_line():
    assert terminal_text("a\x1b]0;never ends\nb") == "a\nb"
    assert terminal_text("a\x1b[31\nb") == "a\nb"


def test_a_sequence_inside_another_opens_no_door():
    assert terminal_text("a\x1b]0;t\x1b]52;c;x\x07b") == "ab"
    assert "\x1b" not in terminal_text("\x1b\x1b[31m\x1b[\x1b[31m\x9b\x9b31m")


PIECES = st.lists(st.text(st.characters() | st.sampled_from("\x1b[]P\\\x07\x9b\x9c\x9d;?m\n")))


@given(PIECES)
def test_nothing_that_could_act_comes_through(pieces: list[str]):
    stream = TerminalText()
    shown = "".join(stream.feed(piece) for piece in pieces)
    assert not any((one < " " and one not in "\n\t") or "\x7f" <= one <= "\x9f" for one in shown)


@given(PIECES)
def test_where_the_text_is_cut_makes_no_difference(pieces: list[str]):
    stream = TerminalText()
    assert "".join(stream.feed(piece) for piece in pieces) == terminal_text("".join(pieces))


@pytest.mark.parametrize("mark", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_nothing_turns_the_text_around_it_about(mark: str):
    assert terminal_text(f"if admin{mark} {{ // begin{mark}") == "if admin { // begin"


def test_plain_text_of_any_script_stays():
    text = "naïve ✓ 日本語 \U0001f469\u200d\U0001f4bb עברית"
    assert terminal_text(text) == text

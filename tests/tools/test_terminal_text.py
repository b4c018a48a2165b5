"""What was written for a terminal becomes text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.tools.terminal_text import plain_text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;aGk=", ""),
        ("\x1b]unterminated\nnext", "\nnext"),
        ("\x9b31mred\x9d0;t\x9cx", "redx"),
        ("\x1b[6n\x1b7\x1b(Bx", "x"),
        ("\x1bP1$q\x1b\\x", "x"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("10%\r50%\r100%\r\ndone", "100%\ndone"),
        ("tab\tand\x08bell\x07", "tab\tandbell"),
    ],
)
def test_escapes_and_redrawn_lines(output: str, text: str):
    assert plain_text(output) == text


@settings(deadline=None)
@given(st.text(st.sampled_from("ab\x1b[]0;m\x07\\\r\n\x9b\x9d\x00\x85P"), max_size=40))
def test_no_control_character_is_left(output: str):
    assert all(
        character in "\t\n" or ord(character) >= 160 or " " <= character <= "~"
        for character in plain_text(output)
    )


def test_time_grows_with_the_length_only():
    started_s = time.perf_counter()
    plain_text("x" * 300_000 + "\x1b]" * 100_000 + "\x1b[" * 100_000 + "a\r" * 100_000)
    assert time.perf_counter() - started_s < 2

"""What hides is written out, in one notation everywhere, and what shows stays as it is."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.visible_text import is_hidden, one_line, visible, visible_ascii, visible_line


@pytest.mark.parametrize(
    "hidden",
    "\u202e\u2066\u200b\u00ad\ufeff\u3164\u2800\u00a0\U000e0041\x1b\x9b\r\ufe0f\u180b\U000e0101\udc80\u2028",
)
def test_what_hides_is_written_out(hidden: str):
    for show in (visible, visible_line, visible_ascii):
        assert show(f"rm{hidden} x") == f"rm\\u{{{ord(hidden):x}}} x"
    assert is_hidden(hidden)


@pytest.mark.parametrize("text", ["naïve ✓ 日本語 \U0001f469 עברית e\u0301", "rm -rf 'a b' \\u{1b}", ""])
def test_what_shows_stays(text: str):
    assert visible(text) == visible_line(text) == one_line(text, 100) == text


def test_lines_stay_lines_or_are_one():
    assert visible("a\n\tb") == "a\n\tb"
    assert visible_line("a\n\tb") == "a\\n\\tb"
    assert visible_ascii("a\nb") == "a\\u{a}b"
    assert one_line("a\nb\tc\x1b[31m", 100) == "a⏎b c\\u{1b}[31m"
    assert one_line("x" * 500, 120) == "x" * 119 + "…"


@given(st.text())
def test_nothing_that_drives_a_terminal_comes_through_anywhere(text: str):
    for shown in (visible(text), visible_line(text), visible_ascii(text), one_line(text, 1_000)):
        assert not any(unicodedata.category(one) in {"Cc", "Cf", "Cs"} for one in shown if one not in "\n\t")
    assert visible_ascii(text).isascii()
    assert "\n" not in visible_line(text) + one_line(text, 1_000)

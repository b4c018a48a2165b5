"""What a terminal would show in the end, however the bytes arrive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.sandbox.terminal_fold import MAX_LINE_BYTES, TerminalFold


def folded(*chunks: bytes) -> bytes:
    fold = TerminalFold()
    return b"".join(fold.feed(chunk) for chunk in chunks) + fold.end()


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("plain\ntext €\n", "plain\ntext €\n"),
        ("no end", "no end"),
        ("10%\r20%\r30%\n", "30%\n"),
        ("10%\r20%\r", "20%"),
        ("\r 10%|\r 20%|\ndone", " 20%|\ndone"),
        ("windows\r\nends\r\n", "windows\nends\n"),
        ("\x1b[31mred\x1b[0m \x1b[1;38;5;3mx\x1b[m\n", "red x\n"),
        ("\x1b[2K10%\x1b[1G\r\x1b[2K20%\n", "20%\n"),
        ("\x1b]0;title\x07text\x1b]8;;http://a\x1b\\\\link\n", "textlink\n"),
        ("\x1b]0;never closed\nnext\n", "\nnext\n"),
        ("\x1b(Btext\x1b=\n", "text\n"),
        ("10%\b\b\b20%\n", "20%\n"),
        ("N\bNA\bAM\bM\n", "NAM\n"),
        ("€\bx\b\b\b\by\n", "y\n"),
    ],
)
def test_what_is_seen_in_the_end(output: str, shown: str):
    data = output.replace("\\\\", "\\").encode()
    assert folded(data).decode() == shown
    assert folded(*(bytes([byte]) for byte in data)).decode() == shown


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_colour_alone_draws_nothing_over_a_line(cut: int):
    whole = b"a\r\x1b[1m\n"
    assert folded(whole[:cut], whole[cut:]) == folded(whole) == b"a\n"


@given(
    st.lists(
        st.sampled_from([b"a", "€".encode(), b"\r", b"\n", b"\b", b"\x1b[1m", b"\x1b]0;t\x07", b" "]),
        max_size=30,
    ),
    st.data(),
)
def test_where_it_is_cut_makes_no_difference(parts: list[bytes], data: st.DataObject):
    whole = b"".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    assert folded(whole[:cut], whole[cut:]) == folded(whole)


@given(st.binary(max_size=200).filter(lambda data: not set(data) & set(b"\r\b\x1b")), st.integers(1, 50))
def test_what_needs_no_folding_is_untouched(data: bytes, size: int):
    assert folded(*(data[place : place + size] for place in range(0, len(data), size))) == data


def test_a_line_without_end_is_passed_on_and_an_endless_bar_is_not_kept():
    fold = TerminalFold()
    assert sum(len(fold.feed(b"x" * 10_000)) for _ in range(100)) >= 1_000_000 - MAX_LINE_BYTES
    bar = TerminalFold()
    assert b"".join(bar.feed(f"\r{number:09}".encode()) for number in range(100_000)) == b""
    assert bar.end() == b"000099999"

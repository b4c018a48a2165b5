"""A window over output: bounded, honest about gaps, always valid text."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ostinato.sandbox.output import MAX_PROGRESS_BYTES, OutputWindow, RecentText, SpillFile

MARK = re.compile(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n")


def window_of(data: bytes, max_bytes: int, chunk: int = 7) -> OutputWindow:
    window = OutputWindow(max_bytes)
    for start in range(0, len(data), chunk):
        window.feed(data[start : start + chunk])
    return window


def test_what_fits_is_shown_whole():
    assert window_of(b"a" * 200, 200).text() == "a" * 200


def test_what_does_not_fit_shows_head_gap_and_tail_within_the_limit():
    data = b"".join(b"%06d\n" % number for number in range(10_000))
    text = window_of(data, 1000, chunk=333).text()
    head, left_out, tail = MARK.split(text)
    assert data.startswith(head.encode())
    assert data.endswith(tail.encode())
    assert len(head) + int(left_out) + len(tail) == len(data)
    assert min(len(head), len(tail)) > 400
    assert len(text.encode()) <= 1000


@given(
    st.text(alphabet="aé€😀", min_size=1, max_size=9),
    st.integers(0, 200),
    st.integers(0, 400),
    st.integers(1, 50),
)
def test_no_code_point_is_split_and_the_gap_is_exact(unit: str, times: int, max_bytes: int, chunk: int):
    text = unit * times
    data = text.encode()
    shown = window_of(data, max_bytes, chunk).text()
    assert "\N{REPLACEMENT CHARACTER}" not in shown
    if len(data) > max_bytes:
        head, left_out, tail = MARK.split(shown)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head.encode()) + int(left_out) + len(tail.encode()) == len(data)
    else:
        assert shown == text


@given(st.binary(max_size=500), st.integers(0, 300), st.integers(1, 50))
def test_any_bytes_become_valid_text(data: bytes, max_bytes: int, chunk: int):
    window = window_of(data, max_bytes, chunk)
    window.text().encode()
    assert window.total_bytes == len(data)


def test_bytes_that_are_no_utf8_are_visible():
    assert window_of(b"a\xff\xfe\x00\xed\xa0\x80b", 100).text().strip("\N{REPLACEMENT CHARACTER}ab\0") == ""


def test_a_code_point_across_two_pieces_is_one():
    assert window_of("€".encode(), 100, chunk=1).text() == "€"


def test_a_spill_file_exists_only_when_something_was_left_out(tmp_path: Path):
    spill = SpillFile(tmp_path / "spill")
    window = OutputWindow(10, spill)
    window.feed(b"0123456789")
    assert spill.path is None
    assert not (tmp_path / "spill").exists()
    window.feed(b"abc")
    window.feed(b"def")
    spill.close()
    assert spill.path is not None
    assert spill.path.read_bytes() == b"0123456789abcdef"


def test_a_spill_file_stops_at_its_own_limit_while_counting_goes_on(tmp_path: Path):
    spill = SpillFile(tmp_path, max_bytes=12)
    window = OutputWindow(4, spill)
    for _ in range(5):
        window.feed(b"01234")
    spill.close()
    assert window.total_bytes == 25
    assert spill.path is not None
    assert spill.path.read_bytes() == b"012340123401"


def test_a_disk_that_takes_nothing_costs_the_spill_file_and_nothing_else(tmp_path: Path):
    (tmp_path / "file").touch()
    spill = SpillFile(tmp_path / "file" / "folder")
    window = OutputWindow(4, spill)
    window.feed(b"0123456789")
    window.feed(b"0123456789")
    assert spill.path is None
    assert window.total_bytes == 20


def test_progress_is_the_newest_text_and_bounded():
    recent = RecentText()
    for _ in range(100):
        recent.feed("€".encode() * 3000 + b"end")
    text = recent.take()
    assert len(text) <= MAX_PROGRESS_BYTES
    assert text.endswith("€end")
    assert "\N{REPLACEMENT CHARACTER}" not in text
    assert recent.take() == ""


def test_progress_waits_for_the_rest_of_a_code_point():
    recent = RecentText()
    recent.feed(b"a\xe2\x82")
    assert recent.take() == "a"
    recent.feed(b"\xac")
    assert recent.take() == "€"

"""What a background command prints can be read by offset, whatever it prints and however it is cut."""

from pathlib import Path

import pytest

from ostinato.sandbox.output_log import TAIL_BYTES, TAIL_WITHOUT_FILE_BYTES, OutputLog


def read_all(log: OutputLog, max_bytes: int) -> str:
    text, offset = "", 0
    while offset < log.total_bytes:
        found = log.read(offset, max_bytes, is_growing=False)
        assert found.start == offset
        assert found.end > offset
        text += found.data.decode()
        offset = found.end
    return text


@pytest.mark.parametrize("max_bytes", [4, 5, 7, 100])
def test_readings_one_after_the_other_give_the_whole_and_split_no_code_point(tmp_path: Path, max_bytes: int):
    log = OutputLog.in_folder(tmp_path)
    text = "é€😀x\nlonger line €€€\n" * 20
    for byte in text.encode():
        log.feed(bytes([byte]))
    log.end()
    assert read_all(log, max_bytes) == text


@pytest.mark.parametrize("cut", ["€".encode()[:2], "😀".encode()[:3]])
def test_a_very_long_line_is_not_cut_within_a_code_point_while_more_may_come(tmp_path: Path, cut: bytes):
    log = OutputLog.in_folder(tmp_path)
    log.feed(b"x" * 100_000 + cut)
    assert log.read(99_990, 100, is_growing=True).data == b"x" * 10
    assert log.read(99_990, 100, is_growing=False).data == b"x" * 10 + cut


def test_a_line_that_is_redrawn_counts_when_it_is_done_and_can_be_seen_before(tmp_path: Path):
    log = OutputLog.in_folder(tmp_path)
    for percent in range(0, 100, 10):
        log.feed(f"\x1b[2K{percent}%\r".encode())
    assert log.total_bytes == 0
    assert log.unfinished_line == "90%"
    log.feed(b"\x1b[32mdone\x1b[0m\n")
    assert log.read(0, 100, is_growing=True).data == b"done\n"
    log.feed(b"Password: ")
    assert log.unfinished_line == "Password: "
    log.end()
    assert log.read(5, 100, is_growing=False).data == b"Password: "


def test_without_a_folder_the_newest_is_kept_in_memory_and_the_rest_is_counted():
    log = OutputLog.in_folder(None)
    for _ in range(4):
        log.feed(b"x" * TAIL_WITHOUT_FILE_BYTES)
    log.feed(b"\nlast\n")
    log.end()
    assert log.path is None
    found = log.read(0, 100, is_growing=False)
    assert found.start > 0
    assert log.read(log.total_bytes - 5, 100, is_growing=False).data == b"last\n"


def test_a_folder_that_cannot_be_written_leaves_the_newest(tmp_path: Path):
    (tmp_path / "file").touch()
    log = OutputLog.in_folder(tmp_path / "file" / "below")
    log.feed(b"said\n")
    assert log.path is None
    assert log.read(0, 100, is_growing=False).data == b"said\n"


def test_a_file_that_somebody_removed_leaves_the_newest(tmp_path: Path):
    log = OutputLog.in_folder(tmp_path)
    log.feed(b"said\n")
    assert log.path is not None
    log.path.unlink()
    assert log.read(0, 100, is_growing=False).data == b"said\n"


def test_memory_stays_bounded(tmp_path: Path):
    log = OutputLog.in_folder(tmp_path)
    for _ in range(100):
        log.feed(b"x" * TAIL_BYTES)
    assert log.read(50 * TAIL_BYTES, 10, is_growing=False).data == b"x" * 10
    assert log.total_bytes == 100 * TAIL_BYTES

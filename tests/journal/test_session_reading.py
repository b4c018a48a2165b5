"""Whatever happens to a file, what is read is a true prefix of what was written, and the rest is reported, never lost."""

from pathlib import Path

import pytest
from tests.journal.sessions_on_disk import FORGED, RENAMED, TAGGED, append, reopened, written

from ostinato.codec import FORMAT, Envelope, encode_line
from ostinato.errors import JournalError
from ostinato.journal.read import read_session, scan
from ostinato.journal.side_files import side_folder
from ostinato.messages import Text as Said
from ostinato.messages import ToolResult, assistant_fragment, tool_result_message, user_prompt
from ostinato.records import Ended, Record, ToolStarted

RECORDS: tuple[Record, ...] = (
    user_prompt("u1", "first"),
    ToolStarted("t1", "Bash", is_read_only=False, input={"command": "ls"}),
    assistant_fragment("f1", "r1", "m", Said("done")),
    Ended("completed", 1),
)
LATER = user_prompt("u2", "later")


def no_side_file(digest: str) -> bytes | None:
    return None


def file_of(folder: Path, data: bytes) -> Path:
    path = folder / "s1.jsonl"
    path.write_bytes(data)
    return path


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    (tmp_path / "whole").mkdir()
    return written(tmp_path / "whole", RECORDS).read_bytes()


def test_a_tail_torn_at_any_byte_costs_the_torn_record_only(tmp_path: Path, data: bytes):
    start = data.rindex(b"\n", 0, len(data) - 1) + 1
    for length in range(start + 1, len(data)):
        folder = tmp_path / str(length)
        folder.mkdir()
        path = file_of(folder, data[:length])
        opened = reopened(path)
        whole = length == len(data) - 1  # only the line end is missing
        kept = RECORDS if whole else RECORDS[:-1]
        assert opened.found.records == kept
        tail = opened.found.bad_tail
        assert (tail is None) == whole
        if tail is not None:
            assert tail.moved_to is not None
            assert tail.moved_to.read_bytes() == data[start:length]
        opened.writer.write(LATER)
        opened.writer.close()
        again = read_session(path)
        assert (again.records, again.bad_tail, again.ignored_lines) == ((*kept, LATER), None, 0)


def test_no_flipped_bit_goes_unseen(data: bytes):
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        found = scan(bytes(damaged), no_side_file)
        count = len(found.records)
        assert found.records == RECORDS[:count], position
        assert count == len(RECORDS) or found.bad_tail is not None, position


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"garbage", b"garbage\n", b"\xff\xfe\n\n\n", b'{"seq":5}\n'])
def test_what_is_no_line_is_moved_aside_and_kept(tmp_path: Path, data: bytes, tail: bytes):
    path = file_of(tmp_path, data + tail)
    opened = reopened(path)
    opened.writer.close()
    assert opened.found.records == RECORDS
    assert opened.found.bad_tail is not None
    assert opened.found.bad_tail.moved_to is not None
    assert opened.found.bad_tail.moved_to.read_bytes() == tail
    again = read_session(path)
    assert (again.records, again.ignored_lines) == (RECORDS, 0)


def test_a_second_bad_tail_does_not_overwrite_the_first(tmp_path: Path, data: bytes):
    path = file_of(tmp_path, data + b"one")
    reopened(path).writer.close()
    append(path, b"two")
    reopened(path).writer.close()
    assert [(tmp_path / f"s1.jsonl.bad-{n}").read_bytes() for n in (1, 2)] == [b"one", b"two"]


def test_reading_alone_changes_nothing(tmp_path: Path, data: bytes):
    path = file_of(tmp_path, data + b"torn")
    read_session(path)
    assert path.read_bytes() == data + b"torn"
    assert list(tmp_path.glob("*.bad-*")) == []


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_missing_line_ends_the_prefix(data: bytes, missing: int):
    lines = data.splitlines(keepends=True)
    del lines[missing]
    found = scan(b"".join(lines), no_side_file)
    assert found.records == RECORDS[:missing]
    assert found.bad_tail is not None


def test_a_repeated_line_ends_the_prefix(data: bytes):
    lines = data.splitlines(keepends=True)
    found = scan(b"".join([*lines[:2], lines[1], *lines[2:]]), no_side_file)
    assert found.records == RECORDS[:2]


def test_lines_of_others_may_stand_anywhere_and_say_nothing(data: bytes):
    lines = data.splitlines(keepends=True)
    mixed = b"".join(
        line + foreign for line, foreign in zip(lines, (RENAMED, FORGED, TAGGED, b"{}\n"), strict=True)
    )
    found = scan(FORGED + mixed, no_side_file)
    assert (found.records, found.title, found.tag, found.bad_tail) == (
        RECORDS,
        "their title",
        "their tag",
        None,
    )


def test_half_a_line_of_others_between_ours_is_counted_and_skipped(data: bytes):
    lines = data.splitlines(keepends=True)
    found = scan(b"".join([*lines[:2], RENAMED[:10], b"\n", *lines[2:]]), no_side_file)
    assert (found.records, found.ignored_lines, found.bad_tail) == (RECORDS, 1, None)


def test_a_name_given_behind_a_torn_line_outlives_the_cut(tmp_path: Path, data: bytes):
    path = file_of(tmp_path, data + b'{"torn\n' + RENAMED + TAGGED)
    reopened(path).writer.close()
    found = read_session(path)
    assert (found.title, found.tag, found.records) == ("their title", "their tag", RECORDS)
    assert found.bad_tail is None


def test_a_line_of_a_replaced_writer_is_ignored(data: bytes):
    lines = data.splitlines(keepends=True)
    newer = encode_line(LATER, Envelope(FORMAT, 5, 2, "s1", "2026-11-30T12:00:00.000Z", "/"), "f1")
    late = encode_line(LATER, Envelope(FORMAT, 5, 1, "s1", "2026-11-30T12:00:00.000Z", "/"), "f1")
    found = scan(b"".join([*lines, newer, late]), no_side_file)
    assert (found.records, found.ignored_lines, found.epoch) == ((*RECORDS, LATER), 1, 2)


def test_a_file_that_is_no_session_of_ours_is_refused_and_left_as_it_is(tmp_path: Path, data: bytes):
    for number, content in enumerate((FORGED * 3, data[1:])):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = file_of(folder, content)
        with pytest.raises(JournalError):
            reopened(path)
        assert path.read_bytes() == content
        assert list(folder.glob("*.bad-*")) == []


@pytest.mark.parametrize("content", [b"", b'{"type":"user","v":1'])
def test_a_session_killed_before_its_first_record_can_begin_again(tmp_path: Path, content: bytes):
    path = file_of(tmp_path, content)
    opened = reopened(path)
    opened.writer.write(LATER)
    opened.writer.close()
    assert read_session(path).records == (LATER,)


def test_a_missing_file_is_a_journal_error(tmp_path: Path):
    with pytest.raises(JournalError):
        read_session(tmp_path / "none.jsonl")
    with pytest.raises(JournalError):
        reopened(tmp_path / "none.jsonl")


def test_a_name_in_a_line_cannot_point_outside_the_side_folder(tmp_path: Path):
    path = written(tmp_path, (tool_result_message("b", ToolResult("t", "x" * 100_000)),))
    (side,) = side_folder(path).iterdir()
    secret = tmp_path / "secret.json"
    side.rename(secret)
    forged = Envelope(FORMAT, 1, 1, "s1", "2026-11-30T12:00:00.000Z", "/", "../../secret")
    path.write_bytes(encode_line(LATER, forged, None))
    found = read_session(path)
    assert found.lost == ("../../secret",)
    assert found.records == (LATER,)

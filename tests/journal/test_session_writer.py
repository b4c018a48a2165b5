"""One writer, one write per record, nothing after a failure, and other programs cannot hurt what was kept."""

import fcntl
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from tests.conversations import CONVERSATIONS
from tests.journal.sessions_on_disk import (
    FORGED,
    RENAMED,
    TAGGED,
    append,
    failing,
    full_after,
    new_session,
    reopened,
    write_at_most,
    written,
)

from ostinato.errors import JournalError
from ostinato.history import History
from ostinato.journal.disk import SYNC, Disk
from ostinato.journal.read import fold, read_session
from ostinato.journal.side_files import MAX_LINE_BYTES, side_folder
from ostinato.messages import (
    SystemMessage,
    Text,
    ToolResult,
    ToolUse,
    assistant_fragment,
    tool_result_message,
    user_prompt,
)
from ostinato.records import QueueArrived, Record, Retract, SessionStarted, SettingChanged, ToolStarted

FIRST, SECOND, THIRD = (user_prompt(f"u{number}", f"prompt {number}") for number in (1, 2, 3))
BIG = tool_result_message("big", ToolResult("t1", "line\n" * 100_000))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def delete(path: Path) -> None:
    path.unlink()


def overwrite(path: Path) -> None:
    path.write_bytes(b"{}")


def cut(path: Path) -> None:
    os.truncate(path, 10)


# ------------------------------------------------------------------------------------------------ what is kept


def test_a_record_is_in_the_file_when_write_returns(tmp_path: Path):
    writer = new_session(tmp_path)
    for count, record in enumerate((FIRST, SECOND, THIRD), 1):
        writer.write(record)
        assert read_session(writer.path).records == (FIRST, SECOND, THIRD)[:count]
    writer.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=CONVERSATIONS)
def test_what_is_read_back_folds_to_the_live_history(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record]
):
    live = History.empty().extend(records)
    writer = new_session(tmp_path_factory.mktemp("s"))
    for record in records:
        writer.write(record)
    found = read_session(writer.path)
    writer.close()
    again = fold(found.records)
    assert again.log() == records
    assert again.view() == live.view()
    assert again.last_response == live.last_response
    assert (found.bad_tail, found.lost, found.unknown, found.ignored_lines) == (None, (), (), 0)


def test_sequence_numbers_have_no_gap_and_epochs_grow_with_each_opening(tmp_path: Path):
    path = written(tmp_path, (FIRST, SECOND))
    opened = reopened(path)
    opened.writer.write(THIRD)
    opened.writer.close()
    assert [(line["seq"], line["epoch"]) for line in lines(path)] == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert read_session(path).records == (FIRST, SECOND, THIRD)


def test_files_and_folders_are_the_users_alone(tmp_path: Path):
    before = os.umask(0)
    try:
        writer = new_session(tmp_path / "projects" / "key")
        writer.write(BIG)
    finally:
        os.umask(before)
    writer.close()
    for path in (tmp_path / "projects").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_environment_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-never-stored")
    written(tmp_path, (SessionStarted("s1", "/project", "m", "1"), FIRST, BIG))
    assert all(b"sk-never-stored" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


# ------------------------------------------------------------------------------------------------ long records


def test_a_long_record_goes_to_a_side_file_first_and_comes_back_whole(tmp_path: Path):
    path = written(tmp_path, (FIRST, BIG, SECOND))
    assert max(len(line) for line in path.read_bytes().splitlines()) <= MAX_LINE_BYTES
    assert read_session(path).records == (FIRST, BIG, SECOND)


def test_the_same_long_record_is_stored_once(tmp_path: Path):
    path = written(tmp_path, (BIG, BIG))
    assert len(list(side_folder(path).iterdir())) == 1
    assert read_session(path).records == (BIG, BIG)


@pytest.mark.parametrize("damage", [delete, overwrite])
def test_a_lost_side_file_is_reported_and_its_preview_stays(tmp_path: Path, damage: Callable[[Path], None]):
    path = written(tmp_path, (FIRST, BIG, SECOND))
    (side,) = side_folder(path).iterdir()
    damage(side)
    found = read_session(path)
    assert found.lost == (side.stem,)
    assert [getattr(record, "uuid", "") for record in found.records] == ["u1", "big", "u2"]


def test_a_side_file_that_cannot_be_written_poisons(tmp_path: Path):
    writer = new_session(tmp_path)
    writer.write(FIRST)
    side_folder(writer.path).parent.write_bytes(b"a file where the folder should be")
    with pytest.raises(JournalError):
        writer.write(BIG)
    assert read_session(writer.path).records == (FIRST,)
    writer.close()


# ------------------------------------------------------------------------------------------------ failing disks


@pytest.mark.parametrize("chunk_bytes", [1, 7, 100])
def test_short_writes_are_completed(tmp_path: Path, chunk_bytes: int):
    writer = new_session(tmp_path, write_at_most(chunk_bytes))
    writer.write(FIRST)
    writer.write(SECOND)
    writer.close()
    assert read_session(writer.path).records == (FIRST, SECOND)


@pytest.mark.parametrize("free_bytes", range(0, 700, 23))
def test_a_full_disk_leaves_whole_records_and_a_writer_that_refuses(tmp_path: Path, free_bytes: int):
    writer = new_session(tmp_path, full_after(free_bytes))
    kept: list[Record] = []

    def fill() -> None:
        for record in (FIRST, SECOND, THIRD, FIRST, SECOND, THIRD):
            writer.write(record)
            kept.append(record)

    with pytest.raises(JournalError):
        fill()
    with pytest.raises(JournalError):
        writer.write(FIRST)
    data = writer.path.read_bytes()
    assert not data or data.endswith(b"\n")
    assert read_session(writer.path).records == tuple(kept)
    writer.close()


def test_half_a_line_that_cannot_be_taken_back_is_left_out_by_the_reader(tmp_path: Path):
    writer = new_session(tmp_path, full_after(400, truncate=failing))
    writer.write(FIRST)
    with pytest.raises(JournalError):
        writer.write(SECOND)
    writer.close()
    found = read_session(writer.path)
    assert found.records == (FIRST,)
    assert found.bad_tail is not None


async def test_a_failed_sync_poisons(tmp_path: Path):
    writer = new_session(tmp_path, Disk(sync=failing))
    writer.write(FIRST)
    with pytest.raises(JournalError):
        await writer.sync()
    with pytest.raises(JournalError):
        writer.write(SECOND)
    with pytest.raises(JournalError):
        await writer.sync()
    writer.close()


async def test_concurrent_syncs_share_one(tmp_path: Path):
    syncs: list[int] = []

    def sync(fd: int) -> None:
        syncs.append(fd)
        SYNC(fd)

    writer = new_session(tmp_path, Disk(sync=sync))

    async def one(number: int) -> None:
        writer.write(user_prompt(f"p{number}", "x"))
        await writer.sync()

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    assert 1 <= len(syncs) <= 2
    await writer.sync()
    assert len(syncs) <= 2
    writer.close()


async def test_side_files_are_safe_before_the_line_that_names_them_even_after_a_cancelled_sync(
    tmp_path: Path,
):
    synced: list[int] = []
    writer = new_session(tmp_path, Disk(sync=lambda fd: synced.append(os.fstat(fd).st_ino)))
    writer.write(BIG)
    (side,) = side_folder(writer.path).iterdir()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await writer.sync()
    await writer.sync()
    assert synced == [side.stat().st_ino, writer.path.stat().st_ino]
    writer.write(FIRST)
    await writer.sync()
    assert synced[2:] == [writer.path.stat().st_ino]
    writer.close()


async def test_a_sync_covers_what_was_written_before_it_began(tmp_path: Path):
    sizes: list[int] = []
    writer = new_session(tmp_path, Disk(sync=lambda fd: sizes.append(os.fstat(fd).st_size)))
    for record in (FIRST, BIG, SECOND):
        writer.write(record)
        await writer.sync()
        assert sizes[-1] == writer.path.stat().st_size
    writer.close()


UNWORTHY: tuple[Record, ...] = (
    SessionStarted("s1", "/project", "m", "1"),
    SettingChanged("model", "m"),
    SystemMessage("c1", "local_command_output", "nothing was spent"),
)


@pytest.mark.parametrize("count", range(len(UNWORTHY) + 1))
def test_a_session_in_which_nobody_said_anything_leaves_no_file(tmp_path: Path, count: int):
    path = written(tmp_path, UNWORTHY[:count])
    assert not path.exists()


def nothing(_path: Path) -> None:
    pass


def name_it(path: Path) -> None:
    append(path, RENAMED)


def forge_it(path: Path) -> None:
    append(path, FORGED)


def replace_it(path: Path) -> None:
    path.unlink()
    path.write_text("of somebody else")


@pytest.mark.parametrize(
    ("further", "happens"),
    [
        ((FIRST,), nothing),
        ((QueueArrived("q1", "typed early"),), nothing),
        ((), name_it),
        ((), forge_it),
        ((), replace_it),
    ],
)
def test_what_somebody_said_or_wrote_stays(
    tmp_path: Path, further: tuple[Record, ...], happens: Callable[[Path], None]
):
    writer = new_session(tmp_path)
    for record in (*UNWORTHY, *further):
        writer.write(record)
    happens(writer.path)
    writer.close()
    assert writer.path.exists()


def test_a_session_that_went_on_stays_whatever_was_added(tmp_path: Path):
    path = written(tmp_path, (FIRST,))
    opened = reopened(path)
    opened.writer.write(UNWORTHY[-1])
    opened.writer.close()
    assert read_session(path).records == (FIRST, UNWORTHY[-1])


def test_what_has_no_json_form_poisons_before_anything_is_written(tmp_path: Path):
    writer = new_session(tmp_path)
    with pytest.raises(JournalError):
        writer.write(ToolStarted("t1", "Bash", is_read_only=False, input=object()))
    assert writer.path.read_bytes() == b""
    writer.close()


def test_a_closed_writer_refuses(tmp_path: Path):
    writer = new_session(tmp_path)
    writer.close()
    writer.close()
    with pytest.raises(JournalError):
        writer.write(FIRST)


def test_an_interrupt_right_after_the_write_costs_neither_record_nor_session(tmp_path: Path):
    pending = [True]

    def write(fd: int, data: bytes) -> int:
        count = os.write(fd, data)
        if pending.pop() if pending else False:
            raise KeyboardInterrupt
        return count

    writer = new_session(tmp_path, Disk(write=write))
    with pytest.raises(KeyboardInterrupt):
        writer.write(FIRST)
    writer.write(SECOND)
    writer.close()
    assert read_session(writer.path).records == (FIRST, SECOND)


# ------------------------------------------------------------------------------------------------ two writers


def test_a_second_opener_is_refused_with_a_hint(tmp_path: Path):
    writer = new_session(tmp_path)
    writer.write(FIRST)
    with pytest.raises(JournalError) as refusal:
        reopened(writer.path)
    assert "ended" in refusal.value.hint
    writer.write(SECOND)
    writer.close()
    opened = reopened(writer.path)
    assert opened.found.records == (FIRST, SECOND)
    opened.writer.close()


def test_a_session_that_exists_is_not_created_again(tmp_path: Path):
    written(tmp_path, (FIRST,))
    with pytest.raises(JournalError):
        new_session(tmp_path)


def test_a_writer_that_lost_its_lock_is_fenced_off_by_the_next(tmp_path: Path):
    late = new_session(tmp_path)
    late.write(FIRST)
    fcntl.flock(late._file._fd, fcntl.LOCK_UN)
    opened = reopened(late.path)
    with pytest.raises(JournalError):
        late.write(SECOND)
    opened.writer.write(THIRD)
    assert read_session(late.path).records == (FIRST, THIRD)
    late.close()
    opened.writer.close()


# ------------------------------------------------------------------------------------------------ other programs


def test_a_rename_and_a_tag_from_outside_are_taken_in_and_nothing_else_is(tmp_path: Path):
    writer = new_session(tmp_path)
    writer.write(FIRST)
    append(writer.path, RENAMED + TAGGED + FORGED)
    writer.write(SECOND)
    assert (writer.title, writer.tag) == ("their title", "their tag")
    writer.close()
    found = read_session(writer.path)
    assert (found.title, found.tag, found.records) == ("their title", "their tag", (FIRST, SECOND))


def test_the_later_name_wins_whoever_gave_it(tmp_path: Path):
    writer = new_session(tmp_path)
    writer.write(FIRST)
    writer.rename("ours")
    append(writer.path, RENAMED)
    writer.set_tag("ours")
    assert read_session(writer.path).title == "their title"
    writer.rename("ours again")
    writer.set_tag("")
    writer.close()
    found = read_session(writer.path)
    assert (found.title, found.tag, found.bad_tail) == ("ours again", "", None)


def test_half_a_line_from_outside_does_not_swallow_our_next_record(tmp_path: Path):
    writer = new_session(tmp_path)
    writer.write(FIRST)
    append(writer.path, RENAMED[:20])
    writer.write(SECOND)
    writer.close()
    found = read_session(writer.path)
    assert (found.records, found.ignored_lines, found.bad_tail) == ((FIRST, SECOND), 1, None)


def test_a_name_far_from_both_ends_is_written_again_on_closing(tmp_path: Path):
    writer = new_session(tmp_path)
    for number in range(300):
        writer.write(user_prompt(f"p{number}", "x" * 500))
        if number == 150:
            append(writer.path, RENAMED + TAGGED)
    writer.close()
    tail = writer.path.read_bytes()[-MAX_LINE_BYTES:]
    assert b'"customTitle":"their title"' in tail
    assert b'\n{"type":"tag","tag":"their tag"' in tail


@pytest.mark.parametrize("harm", [delete, cut])
def test_a_file_deleted_or_cut_from_outside_ends_the_writer(tmp_path: Path, harm: Callable[[Path], None]):
    writer = new_session(tmp_path)
    writer.write(FIRST)
    harm(writer.path)
    with pytest.raises(JournalError):
        writer.write(SECOND)
    writer.close()


def test_transcript_readers_can_walk_from_the_last_message_to_the_first_past_what_was_retracted(
    tmp_path: Path,
):
    wrong = assistant_fragment("wrong", "r0", "m", Text("half"))
    records: list[Record] = [
        SessionStarted("s1", "/project", "m", "1"),
        FIRST,
        wrong,
        Retract("e1", ("wrong",)),
        assistant_fragment("f1", "r1", "m", Text("a")),
        assistant_fragment("f2", "r1", "m", ToolUse("t1", "Read", {})),
        ToolStarted("t1", "Read", is_read_only=True),
        tool_result_message("a1", ToolResult("t1", "x")),
        SECOND,
    ]
    path = written(tmp_path, records)
    opened = reopened(path)
    opened.writer.write(THIRD)
    opened.writer.close()
    parents = {line["uuid"]: line["parentUuid"] for line in lines(path) if "uuid" in line}
    walk: list[object] = ["u3"]
    while parents[walk[-1]] is not None:
        walk.append(parents[walk[-1]])
    assert walk == ["u3", "u2", "a1", "f2", "f1", "u1"]

"""A resume knows which files the conversation had seen, and as what: the right to edit lives on, for what is still the same."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.engine.test_stopping import options

from ostinato.engine.assemble import open_engine
from ostinato.engine.seen_files import MAX_ENTRIES, SeenFiles, seen_in
from ostinato.messages import KnownFile, ToolResult, tool_result_message
from ostinato.ports import SeenFile
from ostinato.records import FileIntended, Record, ToolFinished
from ostinato.testing import Reply, ScriptedModel, call, say

READ = Reply(call("Read", "r", file_path="a"))
EDIT = Reply(call("Edit", "e", file_path="a", old_string="one", new_string="two"))
DONE = Reply(say("done"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("one\nmore\n")
    return tmp_path


async def run(folder: Path, *replies: Reply, prompt: str = "go", **more: Any) -> tuple[str, list[str]]:
    """The id of the session, and the last message of each request."""
    model = ScriptedModel(*replies)
    chosen = replace(options(folder, model), keep_session=True, permission_mode="acceptEdits", **more)
    async with open_engine(chosen) as engine:
        _ = [event async for event in engine.submit_message(prompt)]
        return engine.session_id, [str(request.messages[-1]) for request in model.requests]


def text(folder: Path) -> str:
    return (folder / "a").read_text()


async def test_what_was_read_may_be_edited_after_a_resume(folder: Path):
    session, _ = await run(folder, READ, DONE)
    await run(folder, EDIT, DONE, resume=session)
    assert text(folder) == "two\nmore\n"


async def test_a_session_that_is_continued_knows_it_too_and_a_new_one_does_not(folder: Path):
    await run(folder, READ, DONE)
    await run(folder, EDIT, DONE)
    assert text(folder) == "one\nmore\n"
    await run(folder, READ, DONE)
    await run(folder, EDIT, DONE, continue_session=True)
    assert text(folder) == "two\nmore\n"


async def test_a_file_that_changed_between_the_sessions_is_told_with_the_prompt_and_not_edited(folder: Path):
    session, _ = await run(folder, READ, DONE)
    (folder / "a").write_text("one\nmore of somebody else\n")
    _, told = await run(folder, EDIT, DONE, resume=session)
    assert "has changed on disk" in told[0]
    assert text(folder) == "one\nmore of somebody else\n"
    _, again = await run(folder, DONE, resume=session)
    assert "has changed on disk" not in again[0]


async def test_a_file_that_is_gone_is_told_with_the_prompt(folder: Path):
    session, _ = await run(folder, READ, DONE)
    (folder / "a").unlink()
    _, told = await run(folder, DONE, resume=session)
    assert "is gone from the disk" in told[0]


async def test_a_part_stays_a_part(folder: Path):
    session, _ = await run(folder, Reply(call("Read", "r", file_path="a", limit=1)), DONE)
    write = Reply(call("Write", "w", file_path="a", content="new"))
    await run(folder, write, DONE, resume=session)
    assert text(folder) == "one\nmore\n"
    await run(folder, EDIT, DONE, resume=session)
    assert text(folder) == "two\nmore\n"


async def test_what_was_written_and_edited_counts_as_seen(folder: Path):
    made = Reply(call("Write", "w", file_path="b", content="1"))
    session, _ = await run(folder, READ, EDIT, made, DONE)
    over = Reply(
        call("Write", "w2", file_path="b", content="2"), call("Write", "w3", file_path="a", content="3")
    )
    await run(folder, over, DONE, resume=session)
    assert ((folder / "b").read_text(), text(folder)) == ("2", "3")


async def test_a_file_the_user_named_counts_as_seen(folder: Path):
    session, _ = await run(folder, DONE, prompt="look at @a")
    await run(folder, EDIT, DONE, resume=session)
    assert text(folder) == "two\nmore\n"


async def test_a_change_between_two_prompts_is_told_with_the_next_one_once(folder: Path):
    model = ScriptedModel(READ, DONE, DONE, DONE)
    async with open_engine(options(folder, model)) as engine:
        _ = [event async for event in engine.submit_message("go")]
        (folder / "a").write_text("1\nmore\n")
        _ = [event async for event in engine.submit_message("on")]
        _ = [event async for event in engine.submit_message("on")]
    last, after = (str(model.requests[n].messages[-1]) for n in (2, 3))
    assert "-one\n+1\n" in last.replace("\\n", "\n")
    assert "has changed on disk" not in after


async def test_a_difference_that_was_told_whole_is_known_after_a_resume(folder: Path):
    model = ScriptedModel(READ, DONE, DONE)
    async with open_engine(replace(options(folder, model), keep_session=True)) as engine:
        session = engine.session_id
        _ = [event async for event in engine.submit_message("go")]
        (folder / "a").write_text("one\nless\n")
        _ = [event async for event in engine.submit_message("on")]
    await run(folder, EDIT, DONE, resume=session)
    assert text(folder) == "two\nless\n"


# ---------------------------------------------------------------------------------------- the records alone

A = Path("/a")
INTENDED = FileIntended("t", "/a", "before", "after")


def answered(*, is_error: bool = False) -> Record:
    return tool_result_message("u", ToolResult("t", "…", is_error))


@pytest.mark.parametrize(
    ("records", "seen"),
    [
        ([answered(), ToolFinished("t", "ok")], None),  # an old session: what was read then is unread
        ([INTENDED, answered(), ToolFinished("t", "ok")], SeenFile("after", is_partial=True)),
        ([INTENDED, answered()], SeenFile("after", is_partial=True)),  # killed before the end was written
        ([INTENDED], None),  # killed before it was known whether it happened
        ([INTENDED, answered(is_error=True), ToolFinished("t", "error")], None),
        ([INTENDED, answered(), ToolFinished("t", "ok", 1, (KnownFile("/a", "after"),))], SeenFile("after")),
        ([ToolFinished("t", "ok", 1, (KnownFile("/a", "x"),)), ToolFinished("t", "ok", 1, (KnownFile("/a"),))], None),
    ],
)  # fmt: skip
def test_records_say_what_was_seen(records: Sequence[Record], seen: SeenFile | None):
    assert seen_in(records).get(A) == seen


def test_only_the_files_used_last_are_kept():
    files = SeenFiles()
    for number in range(MAX_ENTRIES):
        files.put(Path(f"/{number}"), SeenFile("h"))
    assert files.get(Path("/0")) is not None  # which makes it the newest
    files.put(Path("/new"), SeenFile("h"))
    kept = [path for path, _ in files.entries()]
    assert len(kept) == MAX_ENTRIES
    assert Path("/0") in kept
    assert Path("/1") not in kept


def test_a_resume_keeps_the_same_hundred():
    ended = [ToolFinished("t", "ok", 0, (KnownFile(f"{os.sep}{n}", "h"),)) for n in range(MAX_ENTRIES + 1)]
    kept = [path for path, _ in seen_in(ended).entries()]
    assert (len(kept), kept[0], kept[-1]) == (MAX_ENTRIES, Path("/1"), Path(f"/{MAX_ENTRIES}"))

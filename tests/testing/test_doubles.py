"""The stand-ins for the loop's ports do what their names say."""

from pathlib import Path

import anyio
import pytest

from ostinato.errors import JournalError, StaleFile, UsageError
from ostinato.messages import user_prompt
from ostinato.ports import Allowed, Denied, PermissionQuery, SeenFile
from ostinato.testing import (
    ALLOWED,
    DENIED,
    AllowAll,
    AnswersAt,
    DenyAll,
    FakeWorkspace,
    Gate,
    ManualAbort,
    MemoryFiles,
    MemoryJournal,
    RunLog,
    ScriptedPermissions,
    answers,
    fake_tool,
    played,
    raises,
    reports,
    survives_cancellation,
    swallows_cancellation,
    tool_context,
    waits_at,
)
from ostinato.tool import Access, Tool


def query(tool: Tool, folder: Path) -> PermissionQuery:
    return PermissionQuery(tool, "t1", {}, FakeWorkspace(folder), ManualAbort())


async def run_once(tool: Tool, folder: Path) -> None:
    await tool.call({}, tool_context(folder))


async def test_a_journal_keeps_what_was_written_until_the_chosen_write_fails() -> None:
    journal = MemoryJournal(fail_at_write=2)
    first = user_prompt("m1", "hello")
    journal.write(first)
    await journal.sync()
    with pytest.raises(JournalError):
        journal.write(user_prompt("m2", "again"))
    assert journal.records == [first]
    assert journal.synced == 1


async def test_a_sync_can_fail() -> None:
    with pytest.raises(JournalError):
        await MemoryJournal(fail_at_sync=1).sync()


def test_seen_files_are_remembered(tmp_path: Path) -> None:
    files = MemoryFiles()
    files.put(tmp_path, SeenFile("abc"))
    assert files.get(tmp_path) == SeenFile("abc")
    assert files.get(tmp_path / "other") is None


async def test_permissions_answer_by_tool_name(tmp_path: Path) -> None:
    permissions = ScriptedPermissions({"Bash": DENIED})
    assert await permissions.decide(query(fake_tool("Bash"), tmp_path)) == DENIED
    assert await permissions.decide(query(fake_tool("Read"), tmp_path)) == ALLOWED
    assert [asked.tool.name for asked in permissions.queries] == ["Bash", "Read"]
    assert isinstance(await AllowAll().decide(query(fake_tool("Bash"), tmp_path)), Allowed)
    assert isinstance(await DenyAll().decide(query(fake_tool("Bash"), tmp_path)), Denied)


async def test_a_person_answers_when_the_gate_opens(tmp_path: Path) -> None:
    gate = Gate()
    permissions = ScriptedPermissions({"Bash": AnswersAt(gate, DENIED)})
    said: list[Allowed | Denied] = []

    async def ask() -> None:
        said.append(await permissions.decide(query(fake_tool("Bash"), tmp_path)))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await gate.reached()
        assert said == []
        gate.open()
    assert said == [DENIED]


async def test_the_run_log_knows_which_calls_overlapped(tmp_path: Path) -> None:
    log, first, second = RunLog(), Gate(), Gate()
    tool = fake_tool("Read", waits_at({"a": first, "b": second}), answers("text"), log=log)

    async def run(name: str) -> None:
        assert await tool.call({}, tool_context(tmp_path, tool_use_id=name)) == "text"

    async with anyio.create_task_group() as group:
        group.start_soon(run, "a")
        group.start_soon(run, "b")
        await first.reached()
        await second.reached()
        assert log.running == {"a", "b"}
        second.open()
        first.open()
    await run("c")
    assert log.overlaps() == {frozenset({"a", "b"})}
    assert log.overlapped("a", "b")
    assert not log.overlapped("a", "c")
    assert log.most_at_once == 2
    assert log.ending_of("c") == "returned"


async def test_a_tool_can_raise_and_report(tmp_path: Path) -> None:
    log, shown = RunLog(), list[str]()
    tool = fake_tool("Bash", reports("one", "two"), raises(ValueError("no")), log=log)
    with pytest.raises(ValueError, match="no"):
        await tool.call({}, tool_context(tmp_path, progress=shown.append))
    assert shown == ["one", "two"]
    assert log.ending_of("t1") == "raised"


async def test_a_cancelled_call_is_logged_as_cancelled(tmp_path: Path) -> None:
    log, gate = RunLog(), Gate()
    tool = fake_tool("Bash", waits_at(gate), log=log)
    async with anyio.create_task_group() as group:
        group.start_soon(run_once, tool, tmp_path)
        await gate.reached()
        group.cancel_scope.cancel()
    assert log.ending_of("t1") == "cancelled"


async def test_a_call_can_ignore_cancellation_until_its_gate_opens(tmp_path: Path) -> None:
    log, gate = RunLog(), Gate()
    tool = fake_tool("Bash", survives_cancellation(gate), log=log)
    async with anyio.create_task_group() as outer:
        scope = anyio.CancelScope()

        async def run() -> None:
            with scope:
                await tool.call({}, tool_context(tmp_path))

        outer.start_soon(run)
        await gate.reached()
        scope.cancel()
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        assert log.running == {"t1"}
        gate.open()
    assert log.running == frozenset()


async def test_a_call_can_swallow_its_cancellation_and_answer(tmp_path: Path) -> None:
    log, gate = RunLog(), Gate()
    tool = fake_tool("Bash", swallows_cancellation(gate), log=log)
    async with anyio.create_task_group() as group:
        group.start_soon(run_once, tool, tmp_path)
        await gate.reached()
        group.cancel_scope.cancel()
    assert log.ending_of("t1") == "returned"


def test_a_fake_call_touches_what_its_input_says(tmp_path: Path) -> None:
    tool, workspace = fake_tool("Edit"), FakeWorkspace(tmp_path)
    assert tool.access({"reads": ["a"], "writes": ["b"]}, workspace) == Access(
        (workspace.resolve("a"),), (workspace.resolve("b"),)
    )
    assert tool.access({}, workspace).exclusive
    assert tool.access({"touches_nothing": True}, workspace) == Access()


async def test_a_workspace_reads_and_replaces_files_and_plays_processes(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path, play=lambda argv: played(" ".join(argv)))
    path = workspace.resolve("folder/a.txt")
    seen = await workspace.replace_file(path, b"one")
    assert await workspace.read_bytes(path, offset=1, max_bytes=1) == b"n"
    await workspace.replace_file(path, b"two", expected=seen)
    with pytest.raises(StaleFile):
        await workspace.replace_file(path, b"three", expected=seen)
    with pytest.raises(UsageError):
        await workspace.read_bytes(tmp_path)
    assert (await workspace.run(["echo", "hi"], timeout_s=1)).output == "echo hi"
    assert workspace.commands == [("echo", "hi")]
    assert not workspace.is_inside(workspace.resolve("../elsewhere"))


def test_an_abort_keeps_its_first_reason_and_calls_back_once() -> None:
    abort, called = ManualAbort(), list[str]()
    abort.on_abort(lambda: called.append("kept"))
    abort.on_abort(lambda: called.append("left"))()
    abort.abort("user")
    abort.abort("timeout")
    abort.on_abort(lambda: called.append("late"))
    assert abort.reason == "user"
    assert called == ["kept", "late"]

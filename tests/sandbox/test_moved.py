"""A command whose time is over goes on in the background: nothing of it is lost, and it still ends with the conversation."""

import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from tests.sandbox.test_process import survivors, wait_for_file

from ostinato.processes import BackgroundFacts, ProcessResult, background_task_id
from ostinato.sandbox.background import MAX_RUNNING, BackgroundProcesses
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.shell_folder import ShellFolder
from ostinato.sandbox.workspace import LocalWorkspace

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc"),
]
ID = background_task_id("call")
UNTIL_GO = "while ! test -e go; do sleep 0.01; done"


class Conversation:
    def __init__(self, folder: Path, *, keeps_output: bool = True) -> None:
        self.folder = folder = folder.resolve()
        self.environment = child_environment(os.environ) | {"OSTINATO_TEST": os.urandom(8).hex()}
        spill_dir = folder / "spill" if keeps_output else None
        self.ended: list[BackgroundFacts] = []
        self.has_ended = anyio.Event()
        self.background = BackgroundProcesses(self.environment, spill_dir, self._note_end)
        shell = ShellFolder(folder, (folder,))
        self.workspace = LocalWorkspace(
            folder, (folder,), self.environment, spill_dir, None, self.background, shell
        )

    def _note_end(self, facts: BackgroundFacts) -> None:
        self.ended.append(facts)
        self.has_ended.set()

    async def run(self, command: str, *, timeout_s: float = 0.3) -> ProcessResult:
        return await self.workspace.run_shell(
            command, timeout_s=timeout_s, max_output_bytes=1000, moves_as="call"
        )

    async def whole_output(self) -> str:
        """Once it has ended."""
        await self.background.wait(ID, 10)
        text, offset = "", 0
        while page := self.background.read(ID, offset=offset, max_bytes=30_000).text:
            text += page
            offset += len(page.encode())
        return text


@pytest.fixture
async def conversation(tmp_path: Path) -> AsyncGenerator[Conversation, None]:
    made = Conversation(tmp_path)
    yield made
    await made.background.aclose()
    assert not survivors(made.environment)


async def test_it_runs_on_and_its_output_goes_on_where_it_was(conversation: Conversation):
    result = await conversation.run(
        f"echo before; printf half; {UNTIL_GO}; echo ' a line'; echo after; exit 3"
    )
    assert (result.exit_code, result.timed_out) == (None, False)
    assert result.output == "before\nhalf"
    assert result.moved is not None
    assert (result.moved.task_id, result.moved.state) == (ID, "running")
    assert result.moved.duration_s >= 0.3
    (conversation.folder / "go").touch()
    await conversation.background.wait(ID, 10)
    new = conversation.background.read(ID, offset=None, max_bytes=1000)
    assert new.text == "half a line\nafter\n"
    assert (new.facts.state, new.facts.exit_code) == ("exited", 3)
    assert await conversation.whole_output() == "before\nhalf a line\nafter\n"


async def test_output_that_was_cut_in_the_result_is_whole_in_its_file(conversation: Conversation):
    result = await conversation.run(f"seq 1 3000; {UNTIL_GO}; seq 3001 4000")
    assert "left out" in result.output
    (conversation.folder / "go").touch()
    expected = "".join(f"{number}\n" for number in range(1, 4001))
    assert await conversation.whole_output() == expected
    facts = conversation.background.all()[0]
    assert facts.output_path is not None
    assert facts.output_path.read_text() == expected


async def test_without_a_file_the_newest_stays(tmp_path: Path):
    conversation = Conversation(tmp_path, keeps_output=False)
    await conversation.run(f"seq 1 3000; {UNTIL_GO}; echo last")
    (conversation.folder / "go").touch()
    await conversation.background.wait(ID, 10)
    found = conversation.background.read(ID, offset=0, max_bytes=30_000)
    assert found.lost_bytes > 0
    assert found.text.endswith("3000\nlast\n")
    await conversation.background.aclose()


async def test_one_that_has_closed_its_output_is_moved_too(conversation: Conversation):
    result = await conversation.run(f"exec >&- 2>&-; {UNTIL_GO}; exit 5")
    assert result.moved is not None
    (conversation.folder / "go").touch()
    await conversation.background.wait(ID, 10)
    assert conversation.background.all()[0].exit_code == 5


@pytest.mark.parametrize("script", ["sleep 60", "trap '' TERM; setsid sleep 60 & nohup sleep 60"])
async def test_it_ends_with_the_conversation(conversation: Conversation, script: str):
    assert (await conversation.run(script)).moved is not None
    assert survivors(conversation.environment)
    await conversation.background.aclose()
    assert not survivors(conversation.environment)


async def test_it_can_be_stopped(conversation: Conversation):
    assert (await conversation.run("sleep 60")).moved is not None
    assert (await conversation.background.stop(ID)).state == "stopped"
    assert not survivors(conversation.environment)


async def test_its_end_is_told(conversation: Conversation):
    await conversation.run(f"{UNTIL_GO}; exit 2")
    (conversation.folder / "go").touch()
    with anyio.fail_after(10):
        await conversation.has_ended.wait()
    assert [(facts.task_id, facts.exit_code) for facts in conversation.ended] == [(ID, 2)]


async def test_its_cd_has_no_effect_any_more(conversation: Conversation):
    (conversation.folder / "sub").mkdir()
    result = await conversation.run(f"cd sub; {UNTIL_GO}")
    assert (result.moved is not None, result.folder_note) == (True, "")
    (conversation.folder / "sub" / "go").touch()
    await conversation.background.wait(ID, 10)
    conversation.workspace.settle_shell_folder()
    assert conversation.workspace.shell_folder == conversation.folder


async def test_where_too_many_run_it_is_ended_and_nothing_is_told_twice(conversation: Conversation):
    for number in range(MAX_RUNNING):
        conversation.background.start("sleep 60", folder=conversation.folder, call_id=f"other{number}")
    result = await conversation.run("trap 'echo bye; exit' TERM; seq 1 3; printf half; sleep 60 & wait")
    assert (result.moved, result.timed_out, result.output) == (None, True, "1\n2\n3\nhalfbye\n")


async def test_an_abort_before_its_time_ends_it(conversation: Conversation):
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(conversation.run, "echo > ready; sleep 60")
            await wait_for_file(conversation.folder / "ready")
            scope.cancel()
    assert not survivors(conversation.environment)
    assert conversation.background.all() == []


async def test_without_an_id_or_a_background_the_time_ends_it(tmp_path: Path):
    environment = child_environment(os.environ)
    plain = LocalWorkspace(tmp_path, (tmp_path,), environment)
    result = await plain.run_shell("sleep 60", timeout_s=0.1, moves_as="call")
    assert (result.timed_out, result.moved) == (True, None)

"""Commands in the background belong to the conversation: both sides hear of an end, and they end with it."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.sandbox.test_process import survivors

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.events import Event
from ostinato.processes import background_task_id
from ostinato.testing import Reply, ScriptedModel, call, say

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc"),
]
ID = background_task_id("t1")


class Place:
    """A folder with an engine's options, and a mark by which its processes are found."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.marked = {"OSTINATO_TEST": os.urandom(8).hex()}
        self.notices: list[str] = []
        self.noticed = anyio.Event()

    def options(self, model: ScriptedModel, **more: Any) -> Options:
        return Options(
            cwd=self.folder,
            model=model,
            environment={"HOME": str(self.folder), "PATH": "/usr/bin:/bin", **self.marked},
            permission_mode="bypassPermissions",
            on_notice=self._notice,
            **more,
        )

    def _notice(self, sentence: str) -> None:
        self.notices.append(sentence)
        self.noticed.set()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def started(command: str) -> Reply:
    return Reply(call("Bash", "t1", command=command, run_in_background=True))


def shown(model: ScriptedModel, number: int) -> str:
    return str(model.requests[number].messages)


async def test_both_sides_hear_once_of_an_end_though_nobody_was_asking(place: Place):
    model = ScriptedModel(
        started("while ! test -e go; do sleep 0.01; done; exit 7"),
        Reply(say("started")),
        Reply(say("so it ended")),
        Reply(say("yes")),
    )
    async with open_engine(place.options(model)) as engine:
        await _play(engine.submit_message("start it"))
        assert "has ended" not in shown(model, 1)
        (place.folder / "go").touch()
        with anyio.fail_after(10):
            await place.noticed.wait()
        assert ["exit code 7" in notice for notice in place.notices] == [True]
        await _play(engine.submit_message("and?"))
        await _play(engine.submit_message("sure?"))
    assert shown(model, 2).count(f"{ID} (") == 1
    assert "exit code 7" in shown(model, 2)
    assert shown(model, 3).count(f"{ID} (") == 1


async def test_an_interrupt_of_the_query_leaves_it_running_and_a_cleared_conversation_ends_it(place: Place):
    model = ScriptedModel(
        started("sleep 60"), Reply(call("Bash", "t2", command="sleep 61")), Reply(say("ok"))
    )
    async with open_engine(place.options(model)) as engine:
        async for event in engine.submit_message("start it"):
            if getattr(event, "tool_use_id", "") == "t2":
                engine.interrupt()
        assert [line.split()[:2] for line in survivors(place.marked)] == [["sleep", "60"]]
        await engine.clear()
        assert survivors(place.marked) == []


async def test_a_resumed_conversation_is_told_that_its_commands_ended_with_the_earlier_run(place: Place):
    first = ScriptedModel(started("sleep 60"), Reply(say("ok")))
    async with open_engine(place.options(first, session_id="one")) as engine:
        await _play(engine.submit_message("start it"))
    assert survivors(place.marked) == []
    second = ScriptedModel(Reply(say("ok")))
    async with open_engine(place.options(second, resume="one")) as engine:
        await _play(engine.submit_message("go on"))
    assert f"{ID} does not run any more" in shown(second, 0)


async def test_where_bash_is_not_offered_its_companions_are_not_either(place: Place):
    for denied in (("Bash",), ("KillShell", "BashOutput")):
        model = ScriptedModel(Reply(say("ok")))
        async with open_engine(place.options(model, disallowed_tools=denied)) as engine:
            await _play(engine.submit_message("hello"))
        assert {"TaskOutput", "TaskStop"}.isdisjoint(tool.name for tool in model.requests[0].tools)


async def _play(events: Any) -> list[Event]:
    return [event async for event in events]

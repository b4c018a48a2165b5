"""A new message of the user ends the calls that may be ended and lets the others finish; a harder abort ends those too."""

import anyio
import pytest
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.events import ToolEnd, UserEvent
from ostinato.loop.abort import AbortSignal
from ostinato.messages import ToolResult
from ostinato.records import Aborted, ToolFinished
from ostinato.testing import Gate, Reply, ScriptedModel, call_with, fake_tool, say, waits_at
from ostinato.tool import InterruptBehaviour, Tool


def tool(name: str, gate: Gate, behaviour: InterruptBehaviour) -> Tool:
    return replace(fake_tool(name, waits_at(gate)), interrupt_behaviour=behaviour)


class Two:
    """A call that is let finish and one that is not, both at their gates; with `in_reply` the reply still streams."""

    def __init__(self, *, in_reply: bool = False) -> None:
        self.blocks, self.cancels, reply = Gate(), Gate(), Gate()
        tools = [tool("Block", self.blocks, "block"), tool("Cancel", self.cancels, "cancel")]
        asked = [call_with("Block", "t0", {"writes": ["a"]}), call_with("Cancel", "t1", {"writes": ["b"]})]
        parts = [*asked, reply, say("x")] if in_reply else asked
        self.scene = Scene(ScriptedModel(Reply(*parts)), tools)

    async def both_run(self) -> None:
        await self.blocks.reached()
        await self.cancels.reached()

    @property
    def outcomes(self) -> dict[str, str]:
        return {e.tool_use_id: e.outcome for e in self.scene.events if isinstance(e, ToolEnd)}

    @property
    def shown(self) -> list[str]:
        blocks = [b for e in self.scene.events if isinstance(e, UserEvent) for b in e.message.content]
        return [block.tool_use_id for block in blocks if isinstance(block, ToolResult)]


@pytest.mark.parametrize("in_reply", [False, True], ids=["in the tools", "in the reply"])
async def test_a_new_message_lets_a_call_finish_that_asks_for_it(in_reply: bool):
    two = Two(in_reply=in_reply)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(two.scene.play)
        await two.both_run()
        two.scene.abort.abort("interrupt")
        await anyio.wait_all_tasks_blocked()
        assert two.outcomes == {"t1": "cancelled"}
        two.blocks.open()
    assert two.outcomes == {"t0": "ok", "t1": "cancelled"}
    assert two.shown == ["t0", "t1"]
    assert two.scene.terminal.reason == ("aborted_streaming" if in_reply else "aborted_tools")
    assert two.scene.is_same_on_disk


@pytest.mark.parametrize("reason", ["user", "terminated", "timeout"])
async def test_any_other_abort_ends_both(reason: str):
    two = Two()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(two.scene.play)
        await two.both_run()
        two.scene.abort.abort(reason)  # pyright: ignore[reportArgumentType] - all are reasons
    assert two.outcomes == {"t0": "cancelled", "t1": "cancelled"}


async def test_a_call_that_has_not_begun_does_not_begin_after_a_new_message():
    gate = Gate()
    asked = [call_with("Block", f"t{number}", {"writes": ["a"]}) for number in range(2)]
    scene = Scene(ScriptedModel(Reply(*asked)), [tool("Block", gate, "block")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await anyio.wait_all_tasks_blocked()
        scene.abort.abort("interrupt")
        gate.open()
    ends = {e.tool_use_id: e.outcome for e in scene.events if isinstance(e, ToolEnd)}
    assert ends == {"t0": "ok", "t1": "cancelled"}


@pytest.mark.parametrize("in_reply", [False, True], ids=["in the tools", "in the reply"])
async def test_a_harder_abort_ends_what_a_new_message_let_run_on(in_reply: bool):
    two = Two(in_reply=in_reply)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(two.scene.play)
        await two.both_run()
        two.scene.abort.abort("interrupt")
        await anyio.wait_all_tasks_blocked()
        two.scene.abort.abort("user")
    assert two.outcomes == {"t0": "cancelled", "t1": "cancelled"}
    written = [record.reason for record in two.scene.journal.records if isinstance(record, Aborted)]
    assert written == ["interrupt", "user"]


async def test_a_call_that_is_let_finish_has_its_time_all_the_same():
    two = Two()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(two.scene.play)
        await two.both_run()
        two.scene.abort.abort("interrupt")
        await two.scene.clock.until_sleeping()
        two.scene.clock.advance(STRICT.tool_timeout_s)
    assert two.outcomes == {"t0": "timed_out", "t1": "cancelled"}


async def test_who_leaves_ends_what_a_new_message_let_run_on():
    two = Two()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(two.scene.play)
        await two.both_run()
        two.scene.abort.abort("interrupt")
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    finished = {r.tool_use_id: r.outcome for r in two.scene.journal.records if isinstance(r, ToolFinished)}
    assert finished["t0"] == "cancelled"


def test_the_first_reason_stays_but_a_harder_one_may_follow_a_new_message():
    heard: list[str] = []
    signal = AbortSignal()
    signal.on_abort(lambda: heard.append("before"))
    signal.abort("interrupt")
    signal.on_abort(lambda: heard.append("between"))
    signal.abort("interrupt")
    assert (signal.reason, heard) == ("interrupt", ["before", "between"])
    signal.abort("user")
    signal.abort("terminated")
    signal.abort("interrupt")
    assert signal.reason == "user"
    assert sorted(heard) == ["before", "before", "between", "between"]

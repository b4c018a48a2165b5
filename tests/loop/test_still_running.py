"""Work that goes on although its call is over: the model is told so, and what conflicts with it waits for it, but not for ever."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import anyio.from_thread
import pytest
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.events import ToolEnd, ToolStart
from ostinato.loop.executor import GRACE_S
from ostinato.loop.still_running import HOLD_S, StillRunning
from ostinato.messages import ToolResult, ToolUse, UserMessage
from ostinato.testing import (
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    call,
    call_with,
    fake_tool,
    say,
    survives_cancellation,
    tool_context,
)
from ostinato.tool import Ended, Tool, ToolContext
from ostinato.tool_from_function import tool

TIMEOUT_S = 5.0
INPUTS: dict[str, dict[str, Any]] = {
    "alone": {},
    "writes a": {"writes": ["a"]},
    "reads a": {"reads": ["a"]},
    "reads b": {"reads": ["b"]},
    "nothing": {"touches_nothing": True},
}
CONFLICTS = {
    frozenset(pair)
    for pair in [
        *(("alone", other) for other in INPUTS),
        ("writes a", "writes a"),
        ("writes a", "reads a"),
    ]
}


class Thread:
    """A tool whose work goes on in what stands for a thread, until `end`."""

    def __init__(self, *, is_read_only: bool = False) -> None:
        self._ended: list[anyio.Event] = []
        self.begun = Gate()
        made = fake_tool("Slow", self._work, is_read_only=is_read_only)
        self.tool = replace(made, timeout_s=TIMEOUT_S)

    async def _work(self, _input: Mapping[str, Any], context: ToolContext) -> None:
        ended = anyio.Event()
        self._ended.append(ended)
        context.cannot_be_stopped(ended)
        await self.begun.wait()

    def end(self) -> None:
        for ended in self._ended:
            ended.set()


def scene_of(slow: Tool, first: ToolUse, *others: ToolUse, following: Sequence[ToolUse] = ()) -> Scene:
    turns = [Reply(first, *others), *(Reply(one) for one in following), Reply(say("done"))]
    quick = fake_tool("Quick")
    return Scene(ScriptedModel(*turns), [slow, quick])


async def has_come_to_rest() -> None:
    await anyio.wait_all_tasks_blocked()


def started(scene: Scene) -> list[str]:
    return [event.tool_use_id for event in scene.events if isinstance(event, ToolStart)]


def outcomes(scene: Scene) -> dict[str, str]:
    return {event.tool_use_id: event.outcome for event in scene.events if isinstance(event, ToolEnd)}


def text_of(scene: Scene, tool_use_id: str) -> str:
    blocks = [b for m in scene.view if isinstance(m, UserMessage) for b in m.content]
    (found,) = [b for b in blocks if isinstance(b, ToolResult) and b.tool_use_id == tool_use_id]
    return str(found.content)


@pytest.mark.parametrize("is_next_pass", [False, True], ids=["same reply", "next pass"])
@pytest.mark.parametrize("later", INPUTS)
@pytest.mark.parametrize("earlier", INPUTS)
async def test_what_conflicts_waits_until_the_work_has_ended(earlier: str, later: str, *, is_next_pass: bool):
    thread = Thread()
    first, second = call_with("Slow", "t1", INPUTS[earlier]), call_with("Quick", "t2", INPUTS[later])
    calls = [] if is_next_pass else [second]
    scene = scene_of(thread.tool, first, *calls, following=[second] if is_next_pass else [])
    must_wait = frozenset({earlier, later}) in CONFLICTS
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await thread.begun.reached()
        await has_come_to_rest()
        scene.clock.advance(TIMEOUT_S)
        await has_come_to_rest()
        assert outcomes(scene)["t1"] == "timed_out"
        assert ("t2" in started(scene)) is not must_wait
        thread.end()
    assert outcomes(scene) == {"t1": "timed_out", "t2": "ok"}
    assert scene.terminal.reason == "completed"
    assert scene.clock.sleepers == 0


async def test_it_is_not_waited_for_longer_than_its_bound():
    thread = Thread()
    scene = scene_of(thread.tool, call("Slow", "t1"), following=[call("Quick", "t2")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await thread.begun.reached()
        await has_come_to_rest()
        scene.clock.advance(TIMEOUT_S)
        await has_come_to_rest()
        scene.clock.advance(HOLD_S - 0.1)
        await has_come_to_rest()
        assert started(scene) == ["t1"]
        scene.clock.advance(0.2)
    assert outcomes(scene) == {"t1": "timed_out", "t2": "ok"}


async def test_one_that_hangs_for_ever_holds_only_once():
    thread = Thread()
    scene = scene_of(
        thread.tool, call("Slow", "t1"), following=[call("Quick", f"t{number}") for number in (2, 3, 4)]
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await thread.begun.reached()
        await has_come_to_rest()
        scene.clock.advance(TIMEOUT_S)
        await has_come_to_rest()
        scene.clock.advance(HOLD_S)
    assert started(scene) == ["t1", "t2", "t3", "t4"]


async def test_what_only_looked_is_not_waited_for():
    thread = Thread(is_read_only=True)
    scene = scene_of(thread.tool, call("Slow", "t1"), following=[call("Quick", "t2")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await thread.begun.reached()
        await has_come_to_rest()
        scene.clock.advance(TIMEOUT_S)
    assert outcomes(scene) == {"t1": "timed_out", "t2": "ok"}


async def test_the_model_is_not_told_that_it_was_stopped():
    running, over = Thread(), Thread()
    for thread in (running, over):
        scene = scene_of(thread.tool, call("Slow", "t1"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.play)
            await thread.begun.reached()
            await has_come_to_rest()
            if thread is over:
                thread.end()
            scene.clock.advance(TIMEOUT_S)
        assert ("was stopped" in text_of(scene, "t1")) is (thread is over)
        assert ("still runs" in text_of(scene, "t1")) is (thread is running)


@pytest.mark.parametrize("reason", ["user", "terminated", "timeout"])
async def test_after_an_abort_neither(reason: Any):
    thread = Thread()
    scene = scene_of(thread.tool, call("Slow", "t1"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await thread.begun.reached()
        scene.abort.abort(reason)
    assert outcomes(scene) == {"t1": "cancelled"}
    assert "still runs" in text_of(scene, "t1")


async def test_a_call_that_waits_is_ended_by_an_abort_at_once_and_has_not_run():
    thread = Thread()
    scene = scene_of(thread.tool, call("Slow", "t1"), following=[call("Quick", "t2")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await thread.begun.reached()
        await has_come_to_rest()
        scene.clock.advance(TIMEOUT_S)
        await has_come_to_rest()
        scene.abort.abort("user")
    assert (scene.terminal.reason, scene.clock.sleepers) == ("aborted_tools", 0)
    assert started(scene) == ["t1"]
    assert "did not run" in text_of(scene, "t2")


async def test_a_task_that_was_given_up_holds_back_too_until_it_ends():
    gate = Gate()
    deaf = replace(fake_tool("Slow", survives_cancellation(gate)), timeout_s=TIMEOUT_S)
    scene = scene_of(deaf, call("Slow", "t1"), following=[call("Quick", "t2")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await has_come_to_rest()
        scene.clock.advance(TIMEOUT_S)
        await has_come_to_rest()
        scene.clock.advance(GRACE_S)
        await has_come_to_rest()
        assert (outcomes(scene), started(scene)) == ({"t1": "outcome_unknown"}, ["t1"])
        gate.open()
    assert outcomes(scene) == {"t1": "outcome_unknown", "t2": "ok"}


async def test_what_ran_on_after_a_query_holds_back_the_next_one():
    thread, kept = Thread(), StillRunning()
    first = Scene(ScriptedModel(Reply(call("Slow", "t1"))), [thread.tool], still_running=kept)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first.play)
        await thread.begun.reached()
        first.abort.abort("user")
    then = Scene(
        ScriptedModel(Reply(call("Quick", "t2")), Reply(say("done"))),
        [fake_tool("Quick")],
        still_running=kept,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(then.play)
        await has_come_to_rest()
        assert started(then) == []
        thread.end()
    assert outcomes(then) == {"t2": "ok"}


# ------------------------------------------------------------------ real threads


class Slowly:
    """A synchronous tool that runs until it is let go."""

    def __init__(self) -> None:
        self.may_end, self.has_ended, self.begun = threading.Event(), threading.Event(), anyio.Event()

        @tool(timeout_s=TIMEOUT_S)
        def slow() -> str:
            """Slow."""
            anyio.from_thread.run_sync(self.begun.set)
            self.may_end.wait(30)
            self.has_ended.set()
            return "late"

        self.tool = replace(slow, name="Slow")


def slowly_then_quick(slow: Slowly, log: RunLog) -> Scene:
    turns = [Reply(call("Slow", "t1")), Reply(call("Quick", "t2")), Reply(say("done"))]
    return Scene(ScriptedModel(*turns), [slow.tool, fake_tool("Quick", log=log)])


async def test_a_function_in_a_thread_is_waited_for_by_the_next_call_that_runs_alone():
    slow, log = Slowly(), RunLog()
    scene = slowly_then_quick(slow, log)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.play)
            await slow.begun.wait()
            scene.clock.advance(TIMEOUT_S)
            await has_come_to_rest()
            assert (log.started, slow.has_ended.is_set()) == ((), False)
            slow.may_end.set()
    finally:
        slow.may_end.set()
    assert slow.has_ended.is_set()
    assert outcomes(scene) == {"t1": "timed_out", "t2": "ok"}
    assert "still runs" in text_of(scene, "t1")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_thread_that_outlives_its_event_loop_harms_nobody(backend: str):
    scenes: list[tuple[Scene, Slowly]] = []

    async def play() -> None:
        slow = Slowly()
        scene = slowly_then_quick(slow, RunLog())
        scenes.append((scene, slow))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.play)
            await slow.begun.wait()
            scene.abort.abort("user")

    anyio.run(play, backend=backend)
    ((scene, slow),) = scenes
    assert not slow.has_ended.is_set()
    slow.may_end.set()
    assert slow.has_ended.wait(10)
    assert scene.terminal.reason == "aborted_tools"


async def test_a_function_whose_call_is_cancelled_before_its_thread_begins_does_not_run_on():
    ran: list[int] = []

    @tool
    def work() -> None:
        """Work."""
        ran.append(1)

    ends: list[Ended] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        await work.call({}, replace(tool_context(), cannot_be_stopped=ends.append))
    assert [one.is_set() for one in ends] == [True]
    assert ran == []

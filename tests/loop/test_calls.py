"""The life of one call: asked for, started or not, waited for, and answered in every case."""

import anyio
import anyio.lowlevel
from tests.loop.scene import STRICT, Scene

from ostinato.events import Event, ResponseUsage
from ostinato.loop.executor import StreamingToolExecutor
from ostinato.loop.ledger import Ledger
from ostinato.messages import AssistantMessage, ToolResult, ToolUse, UserMessage
from ostinato.state import QueryConfig
from ostinato.testing import (
    DenyAll,
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    answers,
    call,
    fake_tool,
    say,
    waits_at,
)

CLASSIC = QueryConfig(normalise_strictly=True, streaming_tool_execution=False)


def results_in(scene: Scene) -> list[ToolResult]:
    return [
        block
        for message in scene.view
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult)
    ]


async def discard(_batch: object) -> None:
    await anyio.lowlevel.checkpoint()


async def test_calls_that_still_run_when_the_reply_ends_are_waited_for():
    gate = Gate()
    scene = Scene(
        ScriptedModel(Reply(call("Look", "t1")), Reply(say("done"))),
        [fake_tool("Look", waits_at(gate), answers("42"))],
    )

    async def open_after_the_reply() -> None:
        while not any(isinstance(event, ResponseUsage) for event in scene.events):
            await anyio.lowlevel.checkpoint()
        gate.open()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(open_after_the_reply)
        await scene.play()
    assert results_in(scene) == [ToolResult("t1", "42")]


async def test_no_call_starts_once_the_query_is_aborted():
    log = RunLog()
    scene = Scene(ScriptedModel(), [fake_tool("Look", log=log)])
    params, deps = scene.params(), scene.deps()
    block = ToolUse("t1", "Look", {})
    shown: list[Event] = []
    async with anyio.create_task_group() as tasks:
        ledger = Ledger(deps.journal, discard, lambda event: shown.append(event) is None)
        executor = StreamingToolExecutor(tasks, params.tool_use_context, deps, ledger, STRICT)
        scene.abort.abort("user")
        executor.add_tool(block, AssistantMessage("m", "r", "scripted-1", (block,)))
        assert not executor.has_calls
    assert log.started == ()
    assert shown == []


async def test_a_denied_call_does_not_run_and_its_result_says_so():
    log = RunLog()
    scene = Scene(
        ScriptedModel(Reply(call("Look", "t1")), Reply(say("I see"))),
        [fake_tool("Look", log=log)],
        permissions=DenyAll(),
    )
    await scene.play()
    assert log.started == ()
    assert [result.is_error for result in results_in(scene)] == [True]
    assert [denial.tool_use_id for denial in scene.terminal.denials] == ["t1"]
    assert scene.terminal.reason == "completed"


async def test_a_call_that_was_complete_but_not_yet_started_at_the_abort_is_answered():
    gate, log = Gate(), RunLog()
    scene = Scene(
        ScriptedModel(Reply(call("Look", "t1"), gate, say("more"))),
        [fake_tool("Look", log=log)],
        config=CLASSIC,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort("user")
    assert log.started == ()
    assert [(result.tool_use_id, result.is_error) for result in results_in(scene)] == [("t1", True)]

"""The life of one call: asked for, started or not, waited for, and answered in every case."""

import ast
import asyncio
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

import ostinato
from ostinato.engine.known_secrets import KnownSecrets
from ostinato.events import Event, ResponseUsage, UserEvent
from ostinato.loop.deps import Deps
from ostinato.loop.described import described
from ostinato.loop.executor import StreamingToolExecutor
from ostinato.loop.ledger import Ledger
from ostinato.loop.turn_tasks import TurnTasks
from ostinato.messages import AssistantMessage, ToolResult, ToolUse, UserMessage
from ostinato.ports import Allowed, Denied, PermissionQuery
from ostinato.state import QueryConfig
from ostinato.testing import (
    DENIED,
    DenyAll,
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    answers,
    call,
    fake_tool,
    raises,
    say,
    waits_at,
)
from ostinato.tool import ToolOutcome, build_tool

SOURCE = Path(ostinato.__file__).parent

CLASSIC = QueryConfig(normalise_strictly=True, streaming_tool_execution=False, max_retries=0)


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
        await anyio.wait_all_tasks_blocked()
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
        executor = StreamingToolExecutor(TurnTasks(tasks), params.tool_use_context, deps, ledger, STRICT)
        scene.abort.abort("user")
        executor.add_tool(block, AssistantMessage("m", "r", "scripted-1", (block,)))
        assert executor.get_completed_results() == []
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


class CancelsItself:
    """A person's dialogue that was torn down: its own task is cancelled, ours is not."""

    async def decide(self, query: PermissionQuery) -> Allowed | Denied:
        raise asyncio.CancelledError(query.tool_use_id)


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_question_that_ends_by_a_cancellation_of_its_own_is_a_denial():
    log = RunLog()
    scene = Scene(
        ScriptedModel(Reply(call("Look", "t1")), Reply(say("I see"))),
        [fake_tool("Look", log=log)],
        permissions=CancelsItself(),
    )
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert [result.is_error for result in results_in(scene)] == [True]
    assert log.started == ()


NO_RESULTS = [None, 3, ToolOutcome(cast("Any", None)), ToolOutcome(cast("Any", (3,)))]


@pytest.mark.parametrize("returned", NO_RESULTS, ids=["nothing", "number", "no content", "no block"])
async def test_a_tool_that_returns_no_result_is_answered_with_an_error(returned: Any):
    async def returns(_input: object, _context: object) -> Any:
        return returned

    tool = build_tool("Bad", description="bad", input_schema={"type": "object"}, call=returns)
    scene = Scene(ScriptedModel(Reply(call("Bad", "t1")), Reply(say("I see"))), [tool])
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert [result.is_error for result in results_in(scene)] == [True]


@pytest.mark.parametrize(
    "display", [{"what": object()}, ["no", "object"], "text"], ids=["no JSON", "list", "text"]
)
async def test_a_display_that_is_no_json_object_is_left_out_and_said(
    caplog: pytest.LogCaptureFixture, display: Any
):
    shown = ToolOutcome("did it", display=display)
    scene = Scene(ScriptedModel(Reply(call("Do", "t1")), Reply(say("ok"))), [fake_tool("Do", answers(shown))])
    await scene.play()
    assert [(result.content, result.is_error) for result in results_in(scene)] == [("did it", False)]
    assert [event.message.display for event in scene.events if isinstance(event, UserEvent)] == [None]
    assert len(caplog.records) == 1


async def test_what_the_model_reads_of_an_error_or_a_denial_is_valid_text():
    denied = DenyAll(replace(DENIED, message="no \ud800"))
    tools = [fake_tool("Look", raises(ValueError("half \ud83d a pair")))]
    for scene in (
        Scene(ScriptedModel(Reply(call("Look", "t1")), Reply(say("ok"))), tools),
        Scene(ScriptedModel(Reply(call("Look", "t1")), Reply(say("ok"))), tools, denied),
    ):
        await scene.play()
        assert ["\ufffd" in str(result.content) for result in results_in(scene)] == [True]


def test_nobody_can_forget_what_takes_the_secrets_out_of_a_text():
    """A default would know only what has the form of a key, and the values in use would be shown."""
    takers = [
        f"{path.name}: {argument.arg}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for argument in _with_a_default(node.args)
        if argument.annotation is not None and ast.unparse(argument.annotation) == "Mask"
    ]
    assert takers == []
    assert "mask" in Deps.__struct_fields__[: -len(Deps.__struct_defaults__)]


def _with_a_default(arguments: ast.arguments) -> list[ast.arg]:
    placed = [*arguments.posonlyargs, *arguments.args]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [*placed[len(placed) - len(arguments.defaults) :], *(one for one, default in named if default)]


def test_what_foreign_code_says_of_its_failure_shows_no_key():
    """Hooks, tools and permission checks: whatever they raise is shown and stored under this description."""
    for error in (
        RuntimeError("401 for sk-ant-SECRETKEY-1234567890abcdef"),
        KeyError("ghp_0123456789abcdef0123"),
    ):
        told = described(error, KnownSecrets({}, newest_key=str).mask)
        assert told.startswith(type(error).__name__)
        assert "SECRETKEY" not in told
        assert "0123456789" not in told

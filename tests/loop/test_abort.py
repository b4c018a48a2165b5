"""Abort at any moment: every call has one result, the Terminal says where it struck, nothing is left running."""

import anyio
import anyio.lowlevel
import pytest
from tests.loop.scene import Scene

from ostinato.errors import JournalError
from ostinato.events import ToolEnd, UserEvent
from ostinato.loop.query import query
from ostinato.loop.results import stopped
from ostinato.messages import AssistantMessage, ToolResult, UserMessage
from ostinato.ports import Denied, ModelRequest
from ostinato.records import Aborted, Record, ToolFinished, ToolStarted
from ostinato.state import QueryConfig
from ostinato.submissions import AbortReason
from ostinato.testing import (
    AnswersAt,
    Gate,
    MemoryJournal,
    Reply,
    RunLog,
    ScriptedModel,
    ScriptedPermissions,
    Turn,
    call,
    fake_tool,
    say,
    survives_cancellation,
    swallows_cancellation,
    waits_at,
)
from ostinato.testing.scripted_permissions import BY_TEST
from ostinato.tool import ToolContext, build_tool


def aborts(scene_abort: "list[Scene]", reason: AbortReason = "user"):
    """A tool behaviour that aborts the query it runs in."""

    async def behave(_input: object, _context: object) -> None:
        scene_abort[0].abort.abort(reason)

    return behave


def raises_base(error: BaseException):
    async def behave(_input: object, _context: object) -> None:
        raise error

    return behave


def unanswered(scene: Scene) -> set[str]:
    calls = {c.id for m in scene.view if isinstance(m, AssistantMessage) for c in m.tool_uses}
    answers = [
        b.tool_use_id
        for m in scene.view
        if isinstance(m, UserMessage)
        for b in m.content
        if isinstance(b, ToolResult)
    ]
    assert len(answers) == len(set(answers))
    return calls - set(answers)


def results_of(scene: Scene) -> dict[str, ToolResult]:
    return {
        block.tool_use_id: block
        for message in scene.view
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult)
    }


def outcomes(scene: Scene) -> dict[str, str]:
    return {r.tool_use_id: r.outcome for r in scene.journal.records if isinstance(r, ToolFinished)}


def refuses_results(record: Record) -> None:
    """A disk that is full just when the results come."""
    if isinstance(record, UserMessage):
        raise JournalError("the test's disk is full")


async def settle() -> None:
    for _ in range(60):
        await anyio.lowlevel.checkpoint()


async def test_abort_before_the_first_byte_ends_as_aborted_streaming():
    scene = Scene(ScriptedModel(Reply(Gate(), say("never"))))
    scene.abort.abort("user")
    await scene.play()
    assert scene.terminal.reason == "aborted_streaming"
    assert scene.view[-1].uuid != "prompt"


async def test_abort_while_text_streams_keeps_completed_blocks_and_what_was_shown_of_the_open_one():
    gate = Gate()
    scene = Scene(ScriptedModel(Reply(say("first"), say("second"), holds={6: gate})))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort("user")
    assert scene.terminal.reason == "aborted_streaming"
    said = [m.text for m in scene.view if isinstance(m, AssistantMessage)]
    assert said == ["firstsecond"]
    assert scene.is_same_on_disk
    assert scene.model.open_streams == 0


async def test_abort_while_tools_run_answers_every_call_once():
    scenes: list[Scene] = []
    log = RunLog()
    model = ScriptedModel(
        Reply(
            call("Wait", "t1", touches_nothing=True),
            call("Stop", "t2", touches_nothing=True),
            call("Wait", "t3"),
        )
    )
    scene = Scene(
        model, [fake_tool("Wait", waits_at(Gate()), log=log), fake_tool("Stop", aborts(scenes), log=log)]
    )
    scenes.append(scene)
    await scene.play()
    assert scene.terminal.reason in {"aborted_tools", "aborted_streaming"}
    assert unanswered(scene) == set()
    assert log.running == frozenset()


async def test_abort_during_tools_after_the_stream_is_aborted_tools():
    gate = Gate()
    log = RunLog()
    scene = Scene(
        ScriptedModel(Reply(call("Wait", "t1"))), [fake_tool("Wait", waits_at(gate), log=log)], max_turns=1
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        while not any(type(e).__name__ == "ResponseUsage" for e in scene.events):
            await anyio.lowlevel.checkpoint()
        await gate.reached()
        scene.abort.abort("user")
    assert scene.terminal.reason == "aborted_tools"
    assert log.ending_of("t1") == "cancelled"
    assert [e.outcome for e in scene.events if isinstance(e, ToolEnd)] == ["cancelled"]
    shown = [e for e in scene.events if isinstance(e, UserEvent) and e.message.origin == "tool_result"]
    assert len(shown) == 1


@pytest.mark.parametrize(("reason", "told"), [("user", True), ("interrupt", False)])
async def test_only_a_hard_abort_tells_the_model_that_it_was_interrupted(reason: AbortReason, told: bool):
    scene = Scene(ScriptedModel(Reply(say("x"))))
    scene.abort.abort(reason)
    await scene.play()
    assert any(isinstance(m, UserMessage) and m.origin == "interruption" for m in scene.view) is told


async def test_a_tool_that_swallows_the_cancellation_still_has_one_result():
    gate = Gate()
    scene = Scene(
        ScriptedModel(Reply(call("Stubborn", "t1"))), [fake_tool("Stubborn", swallows_cancellation(gate))]
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort("user")
    assert unanswered(scene) == set()


@pytest.mark.parametrize("phase", ["streaming", "tools"])
@pytest.mark.parametrize("reason", ["terminated", "consumer_left", "timeout", "user"])
async def test_only_what_the_user_interrupted_is_put_down_to_the_user(reason: AbortReason, phase: str):
    async def ends(_input: object, context: ToolContext) -> None:
        context.abort.abort(reason)
        await anyio.lowlevel.checkpoint()

    scene = Scene(ScriptedModel(Reply(call("Look", "t1"))), [fake_tool("Look", ends)])
    if phase == "streaming":

        def script(_request: ModelRequest, _number: int) -> Turn:
            scene.abort.abort(reason)
            return Reply(say("never"))

        scene.model = ScriptedModel(script=script)
    await scene.play()
    told = [
        m for m in scene.view if isinstance(m, UserMessage) and m.origin in {"interruption", "tool_result"}
    ]
    assert len(told) == (2 if phase == "tools" else 1)
    assert all(("user interrupted" in str(message.content)) is (reason == "user") for message in told)


async def test_a_denial_that_interrupts_ends_the_query_and_its_words_reach_the_model():
    denied = Denied(BY_TEST, "no, and stop", interrupt=True)
    scene = Scene(
        ScriptedModel(Reply(call("Look", "t1"))),
        [fake_tool("Look")],
        permissions=ScriptedPermissions({"Look": denied}),
    )
    await scene.play()
    assert scene.terminal.reason.startswith("aborted")
    assert [d.tool_use_id for d in scene.terminal.denials] == ["t1"]
    assert results_of(scene)["t1"].content == "no, and stop"
    assert outcomes(scene) == {"t1": "denied"}
    assert unanswered(scene) == set()


@pytest.mark.parametrize("sequential", [False, True])
async def test_a_call_that_waited_for_its_turn_at_the_abort_never_starts(sequential: bool):
    gate, log = Gate(), RunLog()
    effects: list[str] = []

    async def acts_before_it_waits(_input: object, context: ToolContext) -> str:
        effects.append(context.tool_use_id)
        return "done"

    scene = Scene(
        ScriptedModel(Reply(call("Wait", "t1"), call("Act", "t2"), call("Act", "t3"))),
        [
            fake_tool("Wait", waits_at(gate), log=log),
            build_tool("Act", description="acts", input_schema={"type": "object"}, call=acts_before_it_waits),
        ],
        config=QueryConfig(normalise_strictly=True, sequential_tools=sequential),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await settle()
        scene.abort.abort("user")
    assert effects == []
    assert [r.tool_use_id for r in scene.journal.records if isinstance(r, ToolStarted)] == ["t1"]
    assert outcomes(scene) == {"t1": "cancelled", "t2": "cancelled", "t3": "cancelled"}


async def test_a_call_that_ran_when_its_reply_was_refused_reads_otherwise_than_one_that_did_not():
    gate, running = Gate(), Gate()
    scene = Scene(
        ScriptedModel(Reply(call("Wait", "t1"), call("Wait", "t2"), gate, say("no"), stop_reason="refusal")),
        [fake_tool("Wait", waits_at(running))],
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await running.reached()
        gate.open()
    assert scene.terminal.reason == "refused"
    shown = [e.message.content[0] for e in scene.events if isinstance(e, UserEvent)]
    found = {block.tool_use_id: block for block in shown if isinstance(block, ToolResult)}
    assert found["t1"].content == stopped("refusal", has_started=True)
    assert found["t2"].content == stopped("refusal", has_started=False)


async def test_a_journal_that_dies_with_the_abort_still_ends_every_call_and_the_query():
    log = RunLog()
    scene = Scene(
        ScriptedModel(
            Reply(call("Wait", "t1", touches_nothing=True), call("Wait", "t2", touches_nothing=True))
        ),
        [fake_tool("Wait", waits_at(Gate()), log=log)],
        journal=MemoryJournal(on_write=refuses_results),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        while len(log.running) < 2:
            await anyio.lowlevel.checkpoint()
        scene.abort.abort("user")
    assert log.running == frozenset()
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("model_error", "JournalError")
    assert not any(isinstance(event, UserEvent) for event in scene.events)


async def test_leaving_ends_the_tools_even_if_the_journal_cannot_take_their_ends():
    log = RunLog()
    scene = Scene(
        ScriptedModel(Reply(call("Wait", "t1"))),
        [fake_tool("Wait", waits_at(Gate()), log=log)],
        journal=MemoryJournal(on_write=refuses_results),
    )
    events = query(scene.params(), scene.deps())
    async for _ in events:
        if log.running:
            break
    await events.aclose()
    assert log.running == frozenset()
    assert scene.model.open_streams == 0


async def test_a_tool_whose_cleanup_fails_does_not_change_how_the_query_ends():
    gate = Gate()

    async def fails_in_its_own_group(_input: object, _context: object) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fails_when_cancelled)
            await gate.wait()

    async def fails_when_cancelled() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("cleanup")

    scene = Scene(ScriptedModel(Reply(call("Bad", "t1"))), [fake_tool("Bad", fails_in_its_own_group)])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await settle()
        scene.abort.abort("user")
    assert scene.terminal.reason in {"aborted_tools", "aborted_streaming"}


async def test_a_prompt_for_permission_ends_on_abort():
    gate = Gate()
    log = RunLog()
    scene = Scene(
        ScriptedModel(Reply(call("Look", "t1"))),
        [fake_tool("Look", log=log)],
        permissions=ScriptedPermissions({"Look": AnswersAt(gate)}),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort("user")
    assert log.started == ()
    assert unanswered(scene) == set()


async def test_the_next_query_works_on_the_history_that_an_abort_left():
    gate = Gate()
    scene = Scene(
        ScriptedModel(Reply(call("Wait", "t1"), call("Wait", "t2"))), [fake_tool("Wait", waits_at(gate))]
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort("user")
    later = Scene(ScriptedModel(Reply(say("fine"))), before=scene.view, prompt="and now")
    await later.play()  # the strict model refuses an illegal history
    assert later.terminal.reason == "completed"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize("error", [SystemExit(3), BaseExceptionGroup("g", [ValueError()]), Unspeakable()])
async def test_whatever_a_tool_raises_is_one_error_result(error: BaseException):
    scene = Scene(
        ScriptedModel(Reply(call("Bad", "t1")), Reply(say("ok"))),
        [fake_tool("Bad", raises_base(error))],
    )
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert unanswered(scene) == set()


async def test_a_tool_that_cannot_be_cancelled_does_not_lose_its_call():
    gate, entered = Gate(), Gate.opened()
    scene = Scene(
        ScriptedModel(Reply(call("Deaf", "t1"))),
        [fake_tool("Deaf", waits_at(entered), survives_cancellation(gate))],
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort("user")
        await anyio.lowlevel.checkpoint()
        gate.open()
    assert unanswered(scene) == set()


@pytest.mark.parametrize("reason", ["user", "timeout", "interrupt"])
async def test_that_and_why_a_query_was_stopped_is_a_fact_in_the_journal(reason: AbortReason):
    scene = Scene(ScriptedModel(Reply(say("x"))))
    scene.abort.abort(reason)
    await scene.play()
    assert [r.reason for r in scene.journal.records if isinstance(r, Aborted)] == [reason]

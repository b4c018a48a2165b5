"""Tool hooks are told of each call that ran; they may add a note for the model or end the query, and can neither trap nor break it."""

from collections.abc import Sequence

import anyio
import pytest
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.events import AttachmentEvent, SystemEvent
from ostinato.history import History
from ostinato.messages import (
    AssistantMessage,
    Message,
    Reminder,
    ToolResult,
    UserMessage,
    user_prompt,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.testing import (
    SCRIPTED_FACTS,
    DenyAll,
    FakeClock,
    Gate,
    Reply,
    ScriptedModel,
    answers,
    broken_call,
    call,
    fake_tool,
    raises,
    say,
    transitions,
)
from ostinato.tool_hooks import AfterTool, AfterToolDecision, NoteForModel, StopContinuation, ToolRan


class Hook:
    """Answers always the same, and notes what it was told."""

    def __init__(self, answer: AfterToolDecision | None = None) -> None:
        self.answer = answer
        self.told: list[ToolRan] = []

    async def __call__(self, ran: ToolRan, /) -> AfterToolDecision | None:
        self.told.append(ran)
        return self.answer


def scene(*hooks: AfterTool, calls: int = 2) -> Scene:
    looks = [call("Look", f"t{number}", path=f"f{number}") for number in range(1, calls + 1)]
    model = ScriptedModel(Reply(*looks), Reply(say("done")))
    tools = [fake_tool("Look", answers("seen"), is_read_only=True)]
    return Scene(model, tools, after_tool=hooks)


def notes(played: Scene) -> list[str]:
    return [
        event.message.attachment.text
        for event in played.events
        if isinstance(event, AttachmentEvent) and isinstance(event.message.attachment, Reminder)
    ]


def notices(played: Scene) -> list[tuple[str, str]]:
    return [(e.message.subtype, e.message.text) for e in played.events if isinstance(e, SystemEvent)]


def check_legal(view: Sequence[Message]) -> None:
    """With a further prompt; raises for an illegal history."""
    history = History.empty().extend([*view, user_prompt("next", "and now?")])
    Normaliser(SCRIPTED_FACTS, strict=True).request_messages(history)


async def test_a_hook_is_told_of_each_call_its_result_and_where_it_ran():
    hook = Hook()
    played = scene(hook)
    await played.play()
    told = sorted(hook.told, key=lambda ran: ran.call.id)
    assert [(ran.call.id, ran.call.name, ran.call.input) for ran in told] == [
        ("t1", "Look", {"path": "f1"}),
        ("t2", "Look", {"path": "f2"}),
    ]
    assert [ran.result for ran in told] == [ToolResult("t1", "seen"), ToolResult("t2", "seen")]
    assert {(ran.outcome, ran.is_read_only) for ran in told} == {("ok", True)}
    assert all(ran.workspace.cwd == played.folder for ran in told)
    assert (played.terminal.reason, transitions(played.terminal), notices(played)) == (
        "completed",
        ("next_turn",),
        [],
    )


async def test_a_failed_call_is_told_too_one_that_never_ran_is_not():
    hook = Hook()
    model = ScriptedModel(
        Reply(call("Fail", "t1"), call("Nothing", "t2"), broken_call("Fail", "t3", "{")), Reply(say("done"))
    )
    played = Scene(model, [fake_tool("Fail", raises(RuntimeError("no")))], after_tool=[hook])
    await played.play()
    assert [(ran.call.id, ran.outcome, ran.result.is_error) for ran in hook.told] == [("t1", "error", True)]


async def test_a_denied_call_is_not_told():
    hook = Hook()
    played = scene(hook)
    played.permissions = DenyAll()
    await played.play()
    assert hook.told == []


@pytest.mark.parametrize("is_streaming", [True, False])
async def test_the_model_reads_notes_behind_the_results_in_the_order_of_calls_and_hooks(is_streaming: bool):
    played = scene(Hook(NoteForModel("first")), Hook(NoteForModel("second")))
    played.config = replace(STRICT, streaming_tool_execution=is_streaming)
    await played.play()
    assert [note.rpartition(" ")[2] for note in notes(played)] == ["first", "second", "first", "second"]
    sent = str(played.model.requests[1].messages[-1].content)
    assert sent.index("seen") < sent.index("first") < sent.index("second")
    folded = played.written
    assert folded.view() == played.view
    check_legal(played.view)


async def test_a_note_of_any_length_or_content_is_cut_and_cleaned():
    played = scene(Hook(NoteForModel("a\ud800" + "x" * 100_000)), calls=1)
    await played.play()
    (note,) = notes(played)
    assert len(note) < 12_000
    note.encode()


async def test_a_hook_ends_the_query_with_every_call_answered():
    hook = Hook(StopContinuation("that is enough"))
    played = scene(hook, Hook(NoteForModel("by the way")))
    await played.play()
    assert (played.terminal.reason, played.terminal.error, transitions(played.terminal)) == (
        "hook_stopped",
        "",
        (),
    )
    assert len(played.model.requests) == 1
    ((subtype, text),) = notices(played)
    assert subtype == "hook_stopped"
    assert "that is enough" in text
    answered = [
        b.tool_use_id
        for m in played.view
        if isinstance(m, UserMessage)
        for b in m.content
        if isinstance(b, ToolResult)
    ]
    asked = [c.id for m in played.view if isinstance(m, AssistantMessage) for c in m.tool_uses]
    assert answered == asked == ["t1", "t2"]
    assert len(notes(played)) == 2
    check_legal(played.view)
    folded = played.written
    assert folded.view() == played.view


async def test_a_stop_comes_before_the_turn_limit_and_says_so_once():
    played = scene(Hook(StopContinuation()), Hook(StopContinuation()))
    played.max_turns = 1
    await played.play()
    assert played.terminal.reason == "hook_stopped"
    assert [subtype for subtype, _ in notices(played)] == ["hook_stopped"]


async def fails(ran: ToolRan, /) -> AfterToolDecision | None:
    raise RuntimeError("a broken hook")


async def gives_nonsense(ran: ToolRan, /) -> AfterToolDecision | None:
    return "yes"  # pyright: ignore[reportReturnType] - what a hook without types may do


def is_not_async(ran: ToolRan, /) -> None:
    return None


@pytest.mark.parametrize("hook", [fails, gives_nonsense, is_not_async, Hook(NoteForModel(" "))])
async def test_a_hook_that_fails_is_named_and_the_query_goes_on(hook: AfterTool):
    played = scene(hook, Hook(NoteForModel("still here")), calls=1)
    await played.play()
    assert (played.terminal.reason, transitions(played.terminal)) == ("completed", ("next_turn",))
    ((subtype, text),) = notices(played)
    assert subtype == "tool_hook_error"
    assert getattr(hook, "__name__", "Hook") in text
    assert len(notes(played)) == 1


async def test_a_hook_that_hangs_is_left_after_its_time():
    async def hangs(ran: ToolRan, /) -> AfterToolDecision | None:
        await anyio.sleep_forever()

    played = scene(hangs, Hook(NoteForModel("still here")), calls=1)
    played.clock = FakeClock(auto_advance=True)
    await played.play()
    assert played.terminal.reason == "completed"
    assert [subtype for subtype, _ in notices(played)] == ["tool_hook_error"]
    assert len(notes(played)) == 1


async def test_an_abort_ends_the_wait_for_a_hook():
    gate = Gate()

    async def waits(ran: ToolRan, /) -> AfterToolDecision | None:
        await gate.wait()
        return StopContinuation()

    played = scene(waits, calls=1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(played.play)
        await gate.reached()
        played.abort.abort("user")
    assert played.terminal.reason == "aborted_tools"
    check_legal(played.view)


async def test_after_an_abort_nobody_is_asked():
    hook, gate = Hook(), Gate()

    async def waits(_input: object, _context: object) -> None:
        await gate.wait()

    played = Scene(ScriptedModel(Reply(call("Look", "t1"))), [fake_tool("Look", waits)], after_tool=[hook])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(played.play)
        await gate.reached()
        played.abort.abort("user")
    assert (played.terminal.reason, hook.told) == ("aborted_tools", [])

"""The loop keeps its promises: it goes on while a tool is asked for, ends in one Terminal, and loses no call."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from msgspec import structs
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.errors import JournalError, ModelError
from ostinato.events import (
    AnyModelEvent,
    AssistantEvent,
    AttachmentEvent,
    MessageStart,
    Terminal,
    ToolEnd,
    ToolStart,
    UserEvent,
)
from ostinato.history import History
from ostinato.loop.deps import CallModel
from ostinato.loop.query import query
from ostinato.messages import AssistantMessage, MaxTurnsReached, Text, ToolResult, ToolUse, Usage, UserMessage
from ostinato.ports import ModelRequest
from ostinato.records import Continued, Ended, Record, ToolFinished, ToolStarted
from ostinato.state import QueryConfig
from ostinato.testing import (
    Cut,
    Fails,
    Gate,
    MemoryJournal,
    Reply,
    RunLog,
    ScriptedModel,
    answers,
    broken_call,
    call,
    fake_tool,
    kinds,
    raises,
    say,
    think,
    transitions,
    waits_at,
)
from ostinato.tool import Tool

CLASSIC = QueryConfig(normalise_strictly=True, streaming_tool_execution=False, max_retries=0)
both_paths = pytest.mark.parametrize("config", [STRICT, CLASSIC], ids=["streaming", "classic"])


def results_of(scene: Scene) -> list[ToolResult]:
    """The results of the newest round, as the next request holds them."""
    last = scene.model.requests[-1].messages[-1]
    return [block for block in last.content if isinstance(block, ToolResult)]


async def test_a_plain_answer_is_one_pass_and_completed():
    scene = Scene(ScriptedModel(Reply(say("hello"))))
    events = await scene.play()
    assert kinds(events) == (
        "request_start",
        "stream_event",
        "assistant",
        "stream_event",
        "response_ended",
        "terminal",
    )
    assert scene.terminal.reason == "completed"
    assert scene.terminal.turn_count == 1
    assert transitions(scene.terminal) == ()


@both_paths
async def test_a_tool_is_run_and_its_result_goes_into_the_next_request(config: QueryConfig):
    model = ScriptedModel(Reply(say("let me look"), call("Look", "t1")), Reply(say("done")))
    scene = Scene(model, [fake_tool("Look", answers("42"))], config=config)
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn",)
    assert scene.terminal.turn_count == 2
    assert results_of(scene) == [ToolResult("t1", "42")]


async def test_the_stop_reason_does_not_drive_the_loop():
    model = ScriptedModel(
        Reply(call("Look", "t1"), stop_reason="end_turn"), Reply(say("done"), stop_reason="tool_use")
    )
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert len(model.requests) == 2


async def test_each_request_begins_with_the_one_before():
    rounds = [Reply(say(f"round {n}"), call("Look", f"t{n}"), call("Look", f"u{n}")) for n in range(5)]
    model = ScriptedModel(*rounds, Reply(say("done")))
    scene = Scene(model, [fake_tool("Look", log=RunLog())])
    await scene.play()
    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert list(later.messages[: len(earlier.messages)]) == list(earlier.messages)
        assert later.system == earlier.system
        assert later.tools == earlier.tools


@both_paths
async def test_all_results_of_a_reply_stand_in_one_message_in_the_order_of_the_calls(config: QueryConfig):
    gates = {"t1": Gate(), "t2": Gate.opened()}
    log = RunLog()
    tool = fake_tool("Look", waits_at(gates), log=log)
    release = fake_tool("Release", opens_gate(gates["t1"]), log=log)
    model = ScriptedModel(
        Reply(
            call("Look", "t1", touches_nothing=True),
            call("Look", "t2", touches_nothing=True),
            call("Release", "t3", touches_nothing=True),
        ),
        Reply(say("done")),
    )
    scene = Scene(model, [tool, release], config=config)
    await scene.play()
    assert [result.tool_use_id for result in results_of(scene)] == ["t1", "t2", "t3"]
    shown = [
        b.tool_use_id
        for e in scene.events
        if isinstance(e, UserEvent)
        for b in e.message.content
        if isinstance(b, ToolResult)
    ]
    assert shown == ["t1", "t2", "t3"]
    assert log.finished != ("t1", "t2", "t3")


def opens_gate(gate: Gate):
    async def behave(_input: object, _context: object) -> None:
        gate.open()

    return behave


async def test_a_tool_starts_while_the_reply_still_streams():
    more = Gate()
    log = RunLog()
    model = ScriptedModel(Reply(call("Open", "t1"), more, say("and on it goes")), Reply(say("done")))
    scene = Scene(model, [fake_tool("Open", opens_gate(more), log=log)])
    await scene.play()  # would wait for ever if the tool started after the reply
    assert scene.terminal.reason == "completed"


async def test_after_the_reply_tools_start_on_the_classic_path_only_when_it_is_complete():
    log = RunLog()
    model = ScriptedModel(Reply(call("Look", "t1"), say("and on")), Reply(say("done")))
    scene = Scene(model, [fake_tool("Look", log=log)], config=CLASSIC)
    events = await scene.play()
    order = kinds(events)
    assert order.index("response_ended") < order.index("tool_start")


@pytest.mark.parametrize(
    ("block", "tool", "expected"),
    [
        (call("Nothing", "t1"), fake_tool("Look"), "error"),
        (broken_call("Look", "t1", '{"path": "a'), fake_tool("Look"), "error"),
        (call("Look", "t1"), fake_tool("Look", raises(ValueError("no"))), "error"),
        (call("Look", "t1"), fake_tool("Look", raises(RuntimeError())), "error"),
    ],
    ids=["unknown tool", "invalid JSON", "raises", "raises without words"],
)
async def test_a_call_that_cannot_run_or_fails_is_answered_with_an_error_and_the_loop_goes_on(
    block: ToolUse, tool: Tool, expected: str
):
    scene = Scene(ScriptedModel(Reply(block), Reply(say("I see"))), [tool])
    events = await scene.play()
    assert [result.is_error for result in results_of(scene)] == [True]
    assert [event.outcome for event in events if isinstance(event, ToolEnd)] == [expected]
    assert scene.terminal.reason == "completed"


async def test_max_turns_allows_exactly_that_many_model_calls_and_says_so_first():
    model = ScriptedModel.repeating(Reply(call("Look", "t1")))
    model = ScriptedModel(script=lambda _request, number: Reply(call("Look", f"t{number}")))
    scene = Scene(model, [fake_tool("Look")], max_turns=3)
    events = await scene.play()
    assert len(model.requests) == 3
    assert scene.terminal.reason == "max_turns"
    assert scene.terminal.turn_count == 4
    attachment = events[-2]
    assert isinstance(attachment, AttachmentEvent)
    assert attachment.message.attachment == MaxTurnsReached(3, 4)
    assert not any(
        isinstance(m, UserMessage) and m.origin == "prompt" and m.uuid != "prompt" for m in scene.view
    )


async def test_a_failed_call_ends_in_model_error_and_says_why():
    error = ModelError("the key is wrong", kind="authentication", status=401, hint="set ANTHROPIC_API_KEY")
    scene = Scene(ScriptedModel(Fails(error)))
    await scene.play()
    assert scene.terminal.reason == "model_error"
    assert (scene.terminal.error_kind, scene.terminal.status) == ("authentication", 401)
    assert scene.terminal.hint == error.hint
    note = scene.view[-1]
    assert isinstance(note, AssistantMessage)
    assert note.is_error


async def test_an_error_note_never_reaches_a_model():
    scene = Scene(ScriptedModel(Fails(ModelError("down", kind="server", status=500))))
    await scene.play()
    again = Scene(ScriptedModel(Reply(say("back"))), before=scene.view, prompt="again")
    again.before = list(scene.view)
    await again.play()
    texts = [b.text for m in again.model.requests[0].messages for b in m.content if isinstance(b, Text)]
    assert texts == ["go", "again"]


async def test_a_stream_that_breaks_after_a_call_keeps_the_call_and_goes_on():
    model = ScriptedModel(Cut(Reply(call("Look", "t1"), say("lost")), after_blocks=1), Reply(say("done")))
    scene = Scene(model, [fake_tool("Look", answers("42"))])
    await scene.play()
    assert results_of(scene) == [ToolResult("t1", "42")]
    assert scene.terminal.reason == "completed"


async def test_a_stream_that_breaks_without_a_call_is_an_error():
    scene = Scene(ScriptedModel(Cut(Reply(say("half a"), say("second")), after_blocks=1)))
    await scene.play()
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("model_error", "stream_cut")


async def test_no_call_of_a_refused_reply_runs_on():
    model = ScriptedModel(Reply(call("Look", "t1"), stop_reason="refusal"))
    scene = Scene(model, [fake_tool("Look", waits_at(Gate()))])
    await scene.play()
    assert scene.terminal.reason == "refused"
    assert [e.outcome for e in scene.events if isinstance(e, ToolEnd)] == ["cancelled"]


async def test_thinking_is_kept_with_its_reply_and_sent_back_whole():
    thought = think("hm", signature="sig")
    model = ScriptedModel(Reply(thought, call("Look", "t1")), Reply(say("done")))
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert model.requests[1].messages[1].content[0] == thought


async def test_usage_is_the_sum_over_all_responses():
    used = Usage(10, 3, 2, 1)
    model = ScriptedModel(Reply(call("Look", "t1"), usage=used), Reply(say("done"), usage=used))
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert scene.terminal.usage == used.plus(used)


async def test_everything_shown_was_written_before_and_the_journal_folds_to_the_same_view():
    model = ScriptedModel(
        Reply(say("a"), call("Look", "t1"), say("b"), call("Look", "t2")),
        Reply(call("Look", "t3")),
        Reply(say("done")),
    )
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    folded = History.empty().extend([*scene.params().messages.view(), *scene.journal.records])
    assert folded.view() == scene.view
    written = [r for r in scene.journal.records if isinstance(r, Continued | Ended)]
    assert [r.reason for r in written] == ["next_turn", "next_turn", "completed"]


async def test_a_call_is_written_as_started_before_and_as_finished_after_it_runs():
    scene = Scene(ScriptedModel(Reply(call("Look", "t1")), Reply(say("done"))), [fake_tool("Look")])
    await scene.play()
    kept = [r for r in scene.journal.records if isinstance(r, ToolStarted | ToolFinished)]
    assert [type(r).__name__ for r in kept] == ["ToolStarted", "ToolFinished"]
    starts = [e.tool_use_id for e in scene.events if isinstance(e, ToolStart)]
    assert starts == ["t1"]


WRITES_OF_TWO_CALLS = 17
"""Two fragments, attempt and end of the response; 2 × (decision, start, result, end); the transition; then the answer's
fragment, attempt and end; the end of the query."""


@pytest.mark.parametrize("nth", range(1, WRITES_OF_TWO_CALLS + 1))
async def test_a_journal_that_cannot_be_written_ends_the_query_in_one_terminal_that_says_so(nth: int):
    failed: list[int] = []

    def fails_once(_record: Record) -> None:
        if scene.journal.writes == nth:
            failed.append(nth)
            raise JournalError("the test's disk is full")

    scene = Scene(
        ScriptedModel(
            Reply(call("Look", "t1", touches_nothing=True), call("Look", "t2", touches_nothing=True)),
            Reply(say("done")),
        ),
        [fake_tool("Look")],
        journal=MemoryJournal(on_write=fails_once),
    )
    events = await scene.play()
    assert failed == [nth]
    assert [event.error_kind for event in events if isinstance(event, Terminal)] == ["JournalError"]
    assert scene.journal.writes == nth  # nothing more is asked of a journal that failed
    refused = scene.journal.records[-1]
    assert not any(e.message is refused for e in events if isinstance(e, AssistantEvent | UserEvent))


def under_one_id(model: ScriptedModel, response_id: str) -> CallModel:
    """The model behind a server that gives all its replies this id."""

    @asynccontextmanager
    async def stream(request: ModelRequest) -> AsyncGenerator[AsyncIterator[Sequence[AnyModelEvent]], None]:
        async with model.stream(request) as batches:
            yield renamed(batches)

    async def renamed(
        batches: AsyncIterator[Sequence[AnyModelEvent]],
    ) -> AsyncGenerator[Sequence[AnyModelEvent], None]:
        async for batch in batches:
            yield tuple(
                structs.replace(event, response_id=response_id) if isinstance(event, MessageStart) else event
                for event in batch
            )

    return stream


@pytest.mark.parametrize("same_id", ["msg_0", ""])
async def test_replies_that_a_server_gives_one_id_stay_replies_of_their_own(same_id: str):
    model = ScriptedModel(
        Reply(call("Look", "t1")),
        Reply(say("more"), call("Look", "t2")),
        Reply(call("Look", "t3")),
        Reply(say("done")),
    )
    scene = Scene(model, [fake_tool("Look")])
    deps = replace(scene.deps(), call_model=under_one_id(model, same_id))
    events = [event async for event in query(scene.params(), deps)]
    roles = [message.role for message in model.requests[-1].messages]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant", "user"]
    ids = [e.message.response_id for e in events if isinstance(e, AssistantEvent)]
    assert len(set(ids)) == 4
    assert ids[1] == ids[2]


async def test_the_fragments_of_one_reply_share_its_response_id():
    scene = Scene(ScriptedModel(Reply(say("a"), call("Look", "t1")), Reply(say("done"))), [fake_tool("Look")])
    await scene.play()
    ids = [e.message.response_id for e in scene.events if isinstance(e, AssistantEvent)]
    assert ids == ["msg_1", "msg_1", "msg_2"]


async def test_a_query_that_ends_by_a_fault_of_the_journal_still_says_what_it_had_cost():
    used = Usage(10, 3)
    model = ScriptedModel(Reply(call("Look", "t1"), usage=used), Reply(say("done"), usage=used))
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    last = Scene(
        ScriptedModel(Reply(call("Look", "t1"), usage=used), Reply(say("done"), usage=used)),
        [fake_tool("Look")],
    )
    last.journal = MemoryJournal(fail_at_write=scene.journal.writes)
    await last.play()
    assert (last.terminal.reason, last.terminal.error_kind) == ("model_error", "JournalError")
    assert (last.terminal.turn_count, last.terminal.usage) == (2, used.plus(used))
    assert transitions(last.terminal) == ("next_turn",)

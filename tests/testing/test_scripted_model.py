"""The scripted model plays its turns, waits where told, and refuses what a provider refuses."""

import anyio
import pytest

from ostinato.errors import IllegalHistory, ModelError
from ostinato.events import AnyModelEvent, BlockStop, InputJsonDelta, MessageStart, MessageStop, TextDelta
from ostinato.messages import AssistantBlock, ProviderState, Text, Thinking, ToolResult, UserBlock
from ostinato.ports import ModelRequest, QuerySource, QueryTracking, RequestMessage, ToolSchema
from ostinato.testing import (
    Cut,
    Fails,
    Gate,
    Reply,
    ScriptedModel,
    ScriptExhausted,
    broken_call,
    call,
    say,
    think,
)

HELLO = RequestMessage("user", (Text("hello"),))


def request(
    *messages: RequestMessage, tools: tuple[ToolSchema, ...] = (), output: int = 1000
) -> ModelRequest:
    return ModelRequest(
        "scripted-1",
        ("system",),
        messages or (HELLO,),
        tools,
        output,
        QuerySource("main"),
        QueryTracking("chain"),
    )


def user(*blocks: UserBlock) -> RequestMessage:
    return RequestMessage("user", blocks)


def assistant(*blocks: AssistantBlock) -> RequestMessage:
    return RequestMessage("assistant", blocks)


async def play_into(
    seen: list[AnyModelEvent], model: ScriptedModel, asked: ModelRequest | None = None
) -> None:
    async with model.stream(asked or request()) as batches:
        async for batch in batches:
            seen += batch


async def play(model: ScriptedModel, asked: ModelRequest | None = None) -> list[AnyModelEvent]:
    events: list[AnyModelEvent] = []
    await play_into(events, model, asked)
    return events


async def test_a_reply_streams_its_blocks_in_pieces_and_ends_with_its_reason() -> None:
    model = ScriptedModel(Reply(say("hello world"), call("Read", id="t1", file_path="a.py")))
    events = await play(model)
    assert isinstance(events[0], MessageStart)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "hello world"
    assert "".join(e.partial_json for e in events if isinstance(e, InputJsonDelta)) == '{"file_path":"a.py"}'
    assert [e.block for e in events if isinstance(e, BlockStop)] == [
        say("hello world"),
        call("Read", id="t1", file_path="a.py"),
    ]
    assert isinstance(events[-1], MessageStop)
    assert events[-1].stop_reason == "tool_use"


async def test_a_given_stop_reason_stands_whatever_the_blocks_say() -> None:
    events = await play(ScriptedModel(Reply(call("Read", id="t1"), stop_reason="end_turn")))
    assert isinstance(events[-1], MessageStop)
    assert events[-1].stop_reason == "end_turn"


async def test_broken_arguments_are_streamed_as_they_are() -> None:
    events = await play(ScriptedModel(Reply(broken_call("Write", id="t1", text='{"a":"b'))))
    assert "".join(e.partial_json for e in events if isinstance(e, InputJsonDelta)) == '{"a":"b'


async def test_the_model_waits_at_a_gate_between_blocks() -> None:
    gate = Gate()
    model = ScriptedModel(Reply(say("one"), gate, say("two")))
    seen: list[AnyModelEvent] = []

    async with anyio.create_task_group() as group:
        group.start_soon(play_into, seen, model)
        await gate.reached()
        assert [e.block for e in seen if isinstance(e, BlockStop)] == [say("one")]
        gate.open()
    assert [e.block for e in seen if isinstance(e, BlockStop)] == [say("one"), say("two")]


async def test_a_hold_stops_the_reply_inside_a_block() -> None:
    gate = Gate()
    model = ScriptedModel(Reply(say("12345678abc"), holds={3: gate}))
    seen: list[AnyModelEvent] = []

    async with anyio.create_task_group() as group:
        group.start_soon(play_into, seen, model)
        await gate.reached()
        assert [e.text for e in seen if isinstance(e, TextDelta)] == ["12345678"]
        gate.open()


@pytest.mark.parametrize(("blocks", "complete"), [(0, 0), (1, 1), (2, 2)])
async def test_a_cut_reply_breaks_after_its_complete_blocks(blocks: int, complete: int) -> None:
    model = ScriptedModel(Cut(Reply(say("one"), say("two")), after_blocks=blocks))
    seen: list[AnyModelEvent] = []
    with pytest.raises(ModelError) as failed:
        await play_into(seen, model)
    assert failed.value.kind == "stream_cut"
    assert sum(isinstance(e, BlockStop) for e in seen) == complete
    assert not any(isinstance(e, MessageStop) for e in seen)


async def test_a_cut_by_events_counts_events() -> None:
    model = ScriptedModel(Cut(Reply(say("12345678abc")), after_events=3))
    seen: list[AnyModelEvent] = []
    with pytest.raises(ModelError):
        await play_into(seen, model)
    assert len(seen) == 3


async def test_a_failing_turn_raises_its_error_and_the_next_request_gets_the_next_turn() -> None:
    model = ScriptedModel(Fails(ModelError("busy", kind="overloaded", status=529)), Reply(say("ok")))
    with pytest.raises(ModelError) as failed:
        await play(model)
    assert failed.value.status == 529
    assert isinstance((await play(model))[-1], MessageStop)


async def test_a_request_beyond_the_script_is_named() -> None:
    model = ScriptedModel(Reply(say("ok")))
    await play(model)
    with pytest.raises(ScriptExhausted, match="request 2"):
        await play(model)


async def test_a_function_can_be_the_script() -> None:
    model = ScriptedModel(script=lambda asked, number: Reply(say(f"{asked.model} {number}")))
    await play(model)
    events = await play(model)
    assert [e.block for e in events if isinstance(e, BlockStop)] == [say("scripted-1 2")]


async def test_leaving_the_stream_closes_it() -> None:
    gate = Gate()
    model = ScriptedModel(Reply(say("one"), gate))
    with anyio.CancelScope() as scope:
        async with model.stream(request()) as batches:
            async for _ in batches:
                assert model.open_streams == 1
                scope.cancel()
    assert model.open_streams == 0


async def test_signed_thinking_carries_the_models_own_name() -> None:
    model = ScriptedModel(Reply(think("hm", signature="sig"), say("ok")))
    events = await play(model)
    assert Thinking("hm", ProviderState("scripted", "scripted-1", "sig")) in [
        e.block for e in events if isinstance(e, BlockStop)
    ]


SCHEMA: dict[str, object] = {"type": "object"}
ILLEGAL = {
    "no messages begin with the user": (assistant(Text("hi")),),
    "two in a row": (user(Text("a")), user(Text("b"))),
    "a call without a result": (HELLO, assistant(call("Read", id="t1")), user(Text("and?"))),
    "a call without a result at the end": (HELLO, assistant(call("Read", id="t1"))),
    "a result without a call": (user(ToolResult("t9", "x"), Text("a")),),
    "two results for one call": (
        HELLO,
        assistant(call("Read", id="t1")),
        user(ToolResult("t1", "x"), ToolResult("t1", "x")),
    ),
    "results after text": (HELLO, assistant(call("Read", id="t1")), user(Text("a"), ToolResult("t1", "x"))),
    "the same id twice": (
        HELLO,
        assistant(call("Read", id="t1"), call("Read", id="t1")),
        user(ToolResult("t1", "x")),
    ),
    "an empty id": (HELLO, assistant(call("Read", id="")), user(ToolResult("", "x"))),
    "blank text": (user(Text(" \n")),),
    "blank text in a result": (HELLO, assistant(call("R", id="t1")), user(ToolResult("t1", (Text(" "),)))),
    "empty content": (user(),),
    "unsigned thinking": (HELLO, assistant(think("hm"), Text("a")), user(Text("b"))),
    "thinking of another model": (
        HELLO,
        assistant(Thinking("hm", ProviderState("scripted", "other", "sig")), Text("a")),
        user(Text("b")),
    ),
}


@pytest.mark.parametrize("messages", ILLEGAL.values(), ids=ILLEGAL.keys())
async def test_an_illegal_history_is_refused(messages: tuple[RequestMessage, ...]) -> None:
    with pytest.raises(IllegalHistory):
        await play(ScriptedModel(Reply(say("ok"))), request(*messages))


async def test_a_legal_history_with_calls_is_accepted() -> None:
    model = ScriptedModel(Reply(say("ok")))
    messages = (
        HELLO,
        assistant(think("hm", signature="s"), Text("a"), call("Read", id="t1"), call("Read", id="t2")),
        user(ToolResult("t1", "x"), ToolResult("t2", "", is_error=True), Text("go on")),
    )
    await play(model, request(*messages, tools=(ToolSchema("Read", "reads", SCHEMA),)))
    assert model.requests[0].messages == messages


@pytest.mark.parametrize(
    "tools",
    [
        (ToolSchema("bad name", "", SCHEMA),),
        (ToolSchema("x" * 65, "", SCHEMA),),
        (ToolSchema("Read", "", SCHEMA), ToolSchema("Read", "", SCHEMA)),
        (ToolSchema("Read", "", {"type": "string"}),),
        (ToolSchema("Read", "", {"type": "object", "anyOf": ()}),),
    ],
)
async def test_an_illegal_tool_is_refused(tools: tuple[ToolSchema, ...]) -> None:
    with pytest.raises(IllegalHistory):
        await play(ScriptedModel(Reply(say("ok"))), request(tools=tools))


async def test_more_output_than_the_model_can_give_is_refused() -> None:
    with pytest.raises(IllegalHistory):
        await play(ScriptedModel(Reply(say("ok"))), request(output=64_001))

"""What compatible servers do otherwise than the Chat Completions wire says: the reply comes through all the same."""

import gzip
import json
from collections.abc import Sequence

import pytest
from tests.providers.openai_stream import DONE, SIMPLE, calls, chunk, piece, usage
from tests.providers.requests import (
    blocks_of,
    decode,
    facts,
    failure_while_decoding,
    read_all,
    request,
    stop_of,
)
from tests.providers.wire_server import EVENT_STREAM, Answer, wire_server

from ostinato.events import AnyModelEvent, BlockStop, TextDelta
from ostinato.messages import AssistantBlock, Text, Thinking, ToolUse
from ostinato.providers.calls import CallIds
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.openai_chat import OpenAIChatModel, OpenAIChatReply

FACTS = facts("openai")
HI = chunk({"content": "hi"})
STOP = chunk(finish="stop")


def reply() -> OpenAIChatReply:
    return OpenAIChatReply(FACTS, CallIds(()), 1000)


def bare(blocks: Sequence[AssistantBlock]) -> list[AssistantBlock]:
    """Without opaque state, which is looked at elsewhere."""
    return [Thinking(block.thinking) if isinstance(block, Thinking) else block for block in blocks]


def choices(*contents: str) -> bytes:
    return chunk(
        choices=[{"index": place, "delta": {"content": text}} for place, text in enumerate(contents)]
    )


def raw(data: object) -> bytes:
    return b"data: %s\n\n" % json.dumps(data).encode()


READ_CALL = {"id": "call_1", "function": {"name": "Read", "arguments": "{}"}}

STREAMS: dict[str, tuple[bytes, list[AssistantBlock]]] = {
    "no [DONE]": (HI + STOP, [Text("hi")]),
    "[DONE] and no finish reason": (HI + DONE, [Text("hi")]),
    "no space after the colon": ((HI + STOP + DONE).replace(b"data: ", b"data:"), [Text("hi")]),
    "a byte order mark": (b"\xef\xbb\xbf" + HI + STOP, [Text("hi")]),
    "comments between": (b": keep-alive\n\n" + HI + b": OPENROUTER PROCESSING\n\n" + STOP, [Text("hi")]),
    "content that is null": (chunk({"content": None}) + HI + chunk({"content": None}, "stop"), [Text("hi")]),
    "content in parts": (chunk({"content": [{"type": "text", "text": "hi"}]}) + STOP, [Text("hi")]),
    "content that is a number": (chunk({"content": 42}) + STOP, [Text("42")]),
    "a message for a delta": (
        chunk(choices=[{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]),
        [Text("hi")],
    ),
    "two choices in each chunk": (choices("h", "H") + choices("i", "I") + STOP, [Text("hi")]),
    "two choices by turns": (
        choices("hi") + chunk(choices=[{"index": 1, "delta": {"content": "HI"}, "finish_reason": "stop"}]) + STOP,
        [Text("hi")],
    ),
    "the only choice is not the first": (
        chunk(choices=[{"index": 3, "delta": {"content": "hi"}, "finish_reason": "stop"}]),
        [Text("hi")],
    ),
    "no choices at first": (chunk(choices=[]) + chunk(choices=None) + HI + STOP, [Text("hi")]),
    "no delta": (chunk(choices=[{"index": 0}]) + HI + STOP, [Text("hi")]),
    "a delta that is a list": (chunk(choices=[{"index": 0, "delta": []}]) + HI + STOP, [Text("hi")]),
    "ids that are numbers": (chunk({"content": "hi"}, id=7, model=1) + STOP, [Text("hi")]),
    "thoughts as reasoning_content": (chunk({"reasoning_content": "hm"}) + HI + STOP, [Thinking("hm"), Text("hi")]),
    "thoughts as reasoning": (chunk({"reasoning": "hm"}) + HI + STOP, [Thinking("hm"), Text("hi")]),
    "thoughts under both names": (
        chunk({"reasoning_content": "hm", "reasoning": "hm"}) + HI + STOP,
        [Thinking("hm"), Text("hi")],
    ),
    "thoughts that are an object": (chunk({"reasoning": {"text": "hm"}}) + HI + STOP, [Text("hi")]),
    "thoughts and words at once": (
        chunk({"content": "hi", "reasoning_content": "hm"}) + STOP,
        [Thinking("hm"), Text("hi")],
    ),
    "arguments that are an object": (
        calls(piece(0, "call_1", "Read", {"path": "a"})) + chunk(finish="tool_calls"),
        [ToolUse("call_1", "Read", {"path": "a"})],
    ),
    "calls that are no list": (
        chunk({"tool_calls": READ_CALL}) + chunk(finish="tool_calls"),
        [ToolUse("call_1", "Read", {})],
    ),
    "an index that is text": (
        chunk({"tool_calls": [{"index": "0", **READ_CALL}]}) + chunk(finish="tool_calls"),
        [ToolUse("call_1", "Read", {})],
    ),
    "calls although it says stop": (calls(piece(0, "call_1", "Read", "{}")) + STOP, [ToolUse("call_1", "Read", {})]),
    "calls in the chunk that ends": (
        chunk({"tool_calls": [READ_CALL]}, "tool_calls"),
        [ToolUse("call_1", "Read", {})],
    ),
    "a finish reason that is a number": (HI + chunk(choices=[{"delta": {}, "finish_reason": 1}]), [Text("hi")]),
}  # fmt: skip


@pytest.mark.parametrize(("stream", "blocks"), STREAMS.values(), ids=STREAMS.keys())
def test_what_was_said_comes_through(stream: bytes, blocks: list[AssistantBlock]):
    events = decode(reply(), [stream])
    assert bare(blocks_of(events)) == blocks
    has_calls = any(isinstance(block, ToolUse) for block in blocks)
    assert stop_of(events).stop_reason == ("tool_use" if has_calls else "end_turn")


@pytest.mark.parametrize(
    ("arguments", "kept"), [([1], "[1]"), (True, "true"), (5, "5"), ("[]", "[]"), ('{"a"', '{"a"')]
)
def test_arguments_that_are_no_object_are_never_run_as_if_there_had_been_none(arguments: object, kept: str):
    stream = chunk({"tool_calls": [{"id": "call_1", "function": {"name": "Read", "arguments": arguments}}]})
    (block,) = blocks_of(decode(reply(), [stream + chunk(finish="tool_calls")]))
    assert block == ToolUse("call_1", "Read", {}, invalid_input=kept)


@pytest.mark.parametrize(
    "delta",
    [{"tool_calls": "Read"}, {"tool_calls": ["Read"]}, {"tool_calls": [{"id": "a", "function": "Read"}]}],
)
def test_calls_that_cannot_be_read_are_not_passed_over(delta: dict[str, object]):
    found = failure_while_decoding(reply(), [chunk(delta) + chunk(finish="tool_calls")])
    assert found.kind == "malformed_response"


@pytest.mark.parametrize(
    ("counted", "tokens"),
    [
        (usage(), (10, 90, 7)),
        (usage(prompt_tokens=100.0, completion_tokens="7"), (10, 90, 7)),
        (usage(prompt_tokens=None, completion_tokens=None), (0, 90, 0)),
        (usage(prompt_tokens_details=None), (100, 0, 7)),
        (usage(prompt_tokens_details=[]), (100, 0, 7)),
        (usage(completion_tokens="many"), (10, 90, 0)),
        (chunk(choices=[], usage=None), (0, 0, 0)),
        (b"", (0, 0, 0)),
    ],
)
def test_counts_that_are_odd_or_absent_cost_only_the_counts(counted: bytes, tokens: tuple[int, int, int]):
    events = decode(reply(), [HI + STOP + counted + DONE])
    found = stop_of(events).usage
    assert (found.input_tokens, found.cache_read_input_tokens, found.output_tokens) == tokens
    assert blocks_of(events) == [Text("hi")]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (raw({"error": {"message": "busy", "type": "overloaded_error"}}), "overloaded"),
        (raw({"error": {"message": "slow", "code": 429, "type": "rate_limit_error"}}), "rate_limit"),
        (raw({"error": "prompt is too long"}), "prompt_too_long"),
        (raw({"object": "error", "message": "maximum context length is 8 tokens", "code": 400}), "prompt_too_long"),
        (raw({"error": {"message": "no words"}, "choices": []}), "server"),
        (b'event: error\ndata: {"message": "overloaded", "type": "overloaded_error"}\n\n', "overloaded"),
        (b"data: no json\n\n", "malformed_response"),
        (b"data: [1, 2]\n\n", "malformed_response"),
        (b"data: <html>\n\n", "malformed_response"),
        (chunk(finish="error"), "server"),
    ],
)  # fmt: skip
def test_an_error_under_a_good_status_is_an_error_and_what_came_before_was_given_out(error: bytes, kind: str):
    events: list[AnyModelEvent] = []
    found = failure_while_decoding(reply(), [HI + error], into=events)
    assert found.kind == kind
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["hi"]
    assert not any(isinstance(event, BlockStop) for event in events)


async def test_a_stream_that_was_packed_although_nobody_asked_is_unpacked():
    headers = {**EVENT_STREAM, "Content-Encoding": "gzip"}
    packed = gzip.compress(SIMPLE)
    with wire_server(Answer([packed[:40], packed[40:]], headers=headers)) as server:
        model = OpenAIChatModel(FACTS, base_url=server.url, settings=HttpSettings())
        assert blocks_of(await read_all(model, request())) == [Text("hi")]
        await model.aclose()

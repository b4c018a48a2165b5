"""A reply in one piece gives what the same reply gives as a stream, asked for or not: the way out when streaming fails."""

import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.providers import responses_stream
from tests.providers.requests import blocks_of, decode, facts, failure_of, read_all, request, stop_of
from tests.providers.wire_server import Answer, wire_server

from ostinato.events import AnyModelEvent, BlockStart, BlockStop, MessageStart, MessageStop
from ostinato.messages import Text, ToolUse, Usage
from ostinato.providers.anthropic import AnthropicModel, AnthropicReply
from ostinato.providers.calls import CallIds
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.openai_chat import OpenAIChatModel, OpenAIChatReply
from ostinato.providers.openai_responses import OpenAIResponsesModel, OpenAIResponsesReply
from ostinato.providers.streaming import ReplyDecoder
from ostinato.testing import Cut, Reply, StrictServer, broken_call, call, say, think

AnyModel = AnthropicModel | OpenAIChatModel | OpenAIResponsesModel
Wires = Mapping[str, tuple[type[AnyModel], Callable[[], ReplyDecoder]]]
WIRES: Wires = {
    "anthropic": (AnthropicModel, lambda: AnthropicReply(facts("anthropic"), CallIds(()))),
    "chat": (OpenAIChatModel, lambda: OpenAIChatReply(facts("openai"), CallIds(()), 1000)),
    "responses": (OpenAIResponsesModel, lambda: OpenAIResponsesReply(facts("openai"), CallIds(()))),
}
every_wire = pytest.mark.parametrize("wire", WIRES)
JSON: Mapping[str, str] = {"Content-Type": "application/json"}


def model_at(url: str, wire: str) -> AnyModel:
    known = facts("anthropic" if wire == "anthropic" else "openai")
    return WIRES[wire][0](known, base_url=url, settings=HttpSettings())


def whole_on(wire: str, words: str = "hi") -> bytes:
    """A small reply in one piece."""
    bodies: Mapping[str, Any] = {
        "anthropic": {"id": "msg_1", "type": "message", "content": [{"type": "text", "text": words}], "stop_reason": "end_turn"},
        "chat": {"id": "chatcmpl-1", "choices": [{"index": 0, "message": {"content": words}, "finish_reason": "stop"}]},
        "responses": responses_stream.response("completed", output=[responses_stream.message(0, words)]),
    }  # fmt: skip
    return json.dumps(bodies[wire]).encode()


REPLIES = {
    "words": Reply(say("hello world")),
    "words and calls": Reply(say("so"), call("Read", id="call_00000000000000001", path="a"), call("Read", id="call_00000000000000002")),
    "thoughts": Reply(think("hm", signature="sig"), say("so"), usage=Usage(10, 5, 90, 4)),
    "cut": Reply(say("so"), stop_reason="max_tokens"),
    "refused": Reply(say("no"), stop_reason="refusal"),
}  # fmt: skip


@every_wire
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
async def test_the_same_blocks_counts_and_reasons_come_without_a_stream(wire: str, reply: Reply):
    with StrictServer(reply, reply) as server:
        model = model_at(server.url, wire)
        streamed = await read_all(model, request())
        whole = await read_all(model, request(wants_stream=False))
        await model.aclose()
        server.assert_clean()
        assert [sent.body["stream"] for sent in server.requests] == [True, False]
        assert server.requests[1].headers["accept"] == "application/json"
    assert repr(blocks_of(whole)).replace("msg_2", "msg_1") == repr(
        blocks_of(streamed)
    )  # items name their reply
    assert stop_of(whole) == stop_of(streamed)
    assert [type(event) for event in whole if isinstance(event, MessageStart | BlockStart | BlockStop)] == [
        type(event) for event in streamed if isinstance(event, MessageStart | BlockStart | BlockStop)
    ]


@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_arguments_that_are_no_object_are_kept_as_invalid_without_a_stream_too(wire: str):
    reply = Reply(broken_call("Read", id="call_00000000000000001", text='{"a"'))
    with StrictServer(reply) as server:
        model = model_at(server.url, wire)
        (block,) = blocks_of(await read_all(model, request(wants_stream=False)))
        await model.aclose()
    assert isinstance(block, ToolUse)
    assert block.invalid_input == '{"a"'


@every_wire
@pytest.mark.parametrize(
    "headers",
    [JSON, {"Content-Type": "text/event-stream"}, {}],
    ids=["as JSON", "called a stream", "called nothing"],
)
async def test_a_server_that_does_not_stream_is_understood_although_a_stream_was_asked_for(
    wire: str, headers: Mapping[str, str]
):
    body = whole_on(wire)
    with wire_server(
        Answer([body[:20], body[20:]], headers=headers), Answer([body], headers=headers)
    ) as server:
        model = model_at(server.url, wire)
        for _ in range(2):
            events = await read_all(model, request())
            assert blocks_of(events) == [Text("hi")]
            assert isinstance(events[-1], MessageStop)
        assert server.connections == 1
        await model.aclose()


@every_wire
async def test_a_server_that_streams_is_understood_although_no_stream_was_asked_for(wire: str):
    with StrictServer(script=lambda body, _: Reply(say("hi"))) as server:
        model = model_at(server.url, wire)
        assert blocks_of(await read_all(model, request())) == [Text("hi")]
        await model.aclose()


@every_wire
async def test_a_reply_that_was_packed_although_nobody_asked_is_unpacked(wire: str):
    headers = {**JSON, "Content-Encoding": "gzip"}
    with wire_server(Answer([gzip.compress(whole_on(wire))], headers=headers)) as server:
        model = model_at(server.url, wire)
        assert blocks_of(await read_all(model, request())) == [Text("hi")]
        await model.aclose()


@every_wire
async def test_a_reply_that_breaks_off_is_a_cut_and_may_be_sent_again(wire: str):
    with StrictServer(Cut(Reply(say("hello world")), after_blocks=1)) as server:
        model = model_at(server.url, wire)
        error = await failure_of(model, request(wants_stream=False))
        await model.aclose()
    assert (error.kind, error.retry) == ("stream_cut", True)


@every_wire
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"object": "list", "data": []}', "malformed_response"),
        (b"{}", "malformed_response"),
        (b'{"half": ', "stream_cut"),
        (b'{"half": }', "malformed_response"),
        (b'{"error": {"type": "overloaded_error", "message": "busy"}}', "overloaded"),
        (b'{"error": {"code": "context_length_exceeded", "message": "no"}}', "prompt_too_long"),
        (b'{"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}', "rate_limit"),
    ],
)
async def test_json_that_is_no_reply_is_named_for_what_it_is(wire: str, body: bytes, kind: str):
    with wire_server(Answer([body], headers=JSON)) as server:
        model = model_at(server.url, wire)
        error = await failure_of(model, request(wants_stream=False))
        await model.aclose()
    assert error.kind == kind
    assert error.hint


@every_wire
def test_a_byte_order_mark_before_a_reply_is_no_part_of_it(wire: str):
    events: list[AnyModelEvent] = decode(WIRES[wire][1](), [b"\xef\xbb\xbf" + whole_on(wire)])
    assert blocks_of(events) == [Text("hi")]

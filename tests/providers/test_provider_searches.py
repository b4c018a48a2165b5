"""Searches that the provider runs: asked for, taken in as they come, sent back unchanged, and only where they belong."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.providers import responses_stream as responses
from tests.providers.anthropic_stream import START, STOP, arguments, closed, opened, opened_text, sse, text
from tests.providers.requests import READ, decode, facts, failure_while_decoding, request

from ostinato.engine.costs import cost_usd
from ostinato.events import AnyModelEvent, BlockStop, MessageStop
from ostinato.loop.reply import Reply
from ostinato.messages import AssistantBlock, ProviderState, ServerBlock, Text, Thinking, Usage
from ostinato.ports import MAX_SEARCHES, Prices, RequestMessage
from ostinato.providers.anthropic import AnthropicReply
from ostinato.providers.anthropic_wire import AnthropicBodies
from ostinato.providers.calls import CallIds
from ostinato.providers.openai_responses import OpenAIResponsesReply
from ostinato.providers.openai_responses_wire import ResponsesBodies
from ostinato.providers.openai_wire import OpenAIBodies
from ostinato.testing import CountingIds

CALL: Mapping[str, Any] = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "bells \u2013 history"},
    "caller": {"type": "direct"},
}
FOUND: Mapping[str, Any] = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "url": "https://example.org/bells",
            "title": "Bells",
            "encrypted_content": "EqgfCioIARgB",
            "page_age": None,
        }
    ],
}
FAILED: Mapping[str, Any] = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
}
ENDED: Mapping[str, Any] = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn"},
    "usage": {"output_tokens": 9, "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0}},
}
SEARCHED: Mapping[str, Any] = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "bells", "queries": ["bells"]},
}
THOUGHT: Mapping[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "look it up"}],
    "encrypted_content": "sealed",
}


def claude(*, whole: bool, found: Mapping[str, Any] = FOUND) -> list[AnyModelEvent]:
    decoder = AnthropicReply(facts("anthropic"), CallIds(()))
    if whole:
        content = [CALL, found, {"type": "text", "text": "in towers"}]
        message = {**START["message"], "content": content, "stop_reason": "end_turn", "usage": ENDED["usage"]}
        into: list[AnyModelEvent] = []
        decoder.read_whole(json.dumps(message).encode(), into)
        return into
    query = json.dumps(CALL["input"])
    events = (
        START,
        opened(0, **{**CALL, "input": {}}),
        arguments(query[:7]),
        arguments(query[7:]),
        closed(),
        opened(1, **found),
        closed(1),
        opened_text(2),
        text("in towers", 2),
        closed(2),
        ENDED,
        STOP,
    )
    return decode(decoder, [sse(*events)])


def gpt() -> list[AnyModelEvent]:
    events = (
        responses.CREATED,
        responses.done(0, **THOUGHT),
        responses.added(1, **{**SEARCHED, "status": "in_progress"}),
        responses.done(1, **SEARCHED),
        responses.done(2, **responses.message(2, "in towers")),
        responses.ended(),
    )
    return decode(OpenAIResponsesReply(facts("openai"), CallIds(())), [responses.sse(*events)])


def said(events: list[AnyModelEvent]) -> tuple[AssistantBlock, ...]:
    return tuple(event.block for event in events if isinstance(event, BlockStop))


def usage_of(events: list[AnyModelEvent]) -> Usage:
    last = events[-1]
    assert isinstance(last, MessageStop)
    return last.usage


def sent_back(blocks: tuple[AssistantBlock, ...], name: str = "model-1") -> list[dict[str, Any]]:
    history = (
        RequestMessage("user", (Text("when?"),)),
        RequestMessage("assistant", blocks),
        RequestMessage("user", (Text("so?"),)),
    )
    model = facts("anthropic")
    bodies = AnthropicBodies(model if name == "model-1" else type(model)("anthropic", name, 1000, 100))
    return json.loads(bodies.body(request(history)))["messages"][1]["content"]


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize("found", [FOUND, FAILED], ids=["found", "failed"])
def test_what_the_service_searched_goes_back_as_it_came(whole: bool, found: Mapping[str, Any]):
    events = claude(whole=whole, found=found)
    blocks = said(events)
    assert [type(block) for block in blocks] == [ServerBlock, ServerBlock, Text]
    assert sent_back(blocks) == [CALL, found, {"type": "text", "text": "in towers"}]
    assert usage_of(events).web_searches == 1


def test_people_are_told_what_was_searched_and_found():
    call, found, _ = said(claude(whole=False))
    assert isinstance(call, ServerBlock)
    assert isinstance(found, ServerBlock)
    assert "bells \u2013 history" in call.text
    assert "https://example.org/bells" in found.text
    _, failed, _ = said(claude(whole=False, found=FAILED))
    assert isinstance(failed, ServerBlock)
    assert "max_uses_exceeded" in failed.text


def test_another_model_gets_nothing_of_it():
    assert sent_back(said(claude(whole=False)), name="model-2") == [{"type": "text", "text": "in towers"}]


def test_a_search_that_was_cut_in_its_words_is_no_fault():
    decoder = AnthropicReply(facts("anthropic"), CallIds(()))
    cut = {**ENDED, "delta": {"stop_reason": "max_tokens"}}
    events = decode(decoder, [sse(START, opened(0, **{**CALL, "input": {}}), arguments('{"que'), cut, STOP)])
    (block,) = said(events)
    assert isinstance(block, ServerBlock)
    assert block.part == "call"


@pytest.mark.parametrize(
    ("received", "searches"),
    [
        ((START,), 0),
        ((START, opened(0, **{**CALL, "input": {}}), arguments('{"que')), 0),
        ((START, opened(0, **CALL), closed()), 1),
        ((START, opened(0, **CALL), closed(), opened(1, **FOUND), closed(1)), 1),
        (
            (
                *(START, opened(0, **CALL), closed(), opened(1, **FOUND), closed(1)),
                *(opened(2, **{**CALL, "id": "srvtoolu_2"}), closed(2), opened_text(3)),
            ),
            2,
        ),
    ],
    ids=["nothing", "half a call", "a call", "a search", "two, and a word"],
)
def test_searches_of_a_reply_that_is_cut_are_counted_by_its_blocks(received: tuple[Any, ...], searches: int):
    events: list[AnyModelEvent] = []
    failure_while_decoding(AnthropicReply(facts("anthropic"), CallIds(())), [sse(*received)], into=events)
    reply = Reply("m")
    for event in events:
        reply.take(event, CountingIds())
    assert reply.usage.web_searches == searches
    assert reply.known_usage(int).web_searches == searches


def test_of_a_complete_reply_the_count_of_the_service_holds_also_where_a_search_failed():
    reply = Reply("m")
    for event in claude(whole=False, found=FAILED)[:-1]:
        reply.take(event, CountingIds())
    reply.take(MessageStop("end_turn", Usage(1, 1)), CountingIds())
    assert reply.usage.web_searches == 0


def test_each_block_of_the_responses_wire_says_whether_it_was_a_search_that_costs():
    counted = [block.searches for block in said(gpt()) if isinstance(block, ServerBlock)]
    assert counted == [usage_of(gpt()).web_searches] == [1]


def test_the_responses_wire_takes_them_in_and_back_with_the_thought_before_them():
    events = gpt()
    blocks = said(events)
    assert [type(block) for block in blocks] == [Thinking, ServerBlock, Text]
    assert usage_of(events).web_searches == 1
    history = (RequestMessage("user", (Text("when?"),)), RequestMessage("assistant", blocks))
    body = json.loads(ResponsesBodies(facts("openai", thinking_form="effort")).body(request(history)))
    assert body["input"][1:3] == [THOUGHT, SEARCHED]
    foreign = ServerBlock(
        "whole", "ws_2", "searched", ProviderState("anthropic", "model-1", json.dumps(dict(SEARCHED)))
    )
    history = (RequestMessage("user", (Text("when?"),)), RequestMessage("assistant", (foreign, Text("x"))))
    body = json.loads(ResponsesBodies(facts("openai")).body(request(history)))
    assert [item["type"] for item in body["input"]] == ["message", "message"]


@pytest.mark.parametrize("searches_web", [False, True])
@pytest.mark.parametrize("tools", [(READ,), ()], ids=["with a tool", "alone"])
def test_the_tool_is_declared_only_where_it_is_wanted(searches_web: bool, tools: tuple[Any, ...]):
    sent = request(searches_web=searches_web, tools=tools)
    own = {"type": "web_search_20250305", "name": "web_search", "max_uses": MAX_SEARCHES}
    for bodies, declared in (
        (AnthropicBodies(facts("anthropic")), own),
        (ResponsesBodies(facts("openai")), {"type": "web_search"}),
    ):
        told = json.loads(bodies.body(sent)).get("tools", [])
        assert len(told) == len(tools) + searches_web
        assert (declared in told) == searches_web
    assert "web_search" not in OpenAIBodies(facts("openai")).body(sent).decode()


@pytest.mark.parametrize("searches_web", [False, True])
def test_how_often_it_may_search_is_limited_on_every_wire_that_does(searches_web: bool):
    """Each search costs money that was reserved before."""
    body = json.loads(ResponsesBodies(facts("openai")).body(request(searches_web=searches_web)))
    assert body.get("max_tool_calls") == (MAX_SEARCHES if searches_web else None)


@pytest.mark.parametrize("broken", [rb"a\ud83db", b"a\xffb"], ids=["half a character", "no text"])
def test_what_was_found_may_hold_what_is_no_text(broken: bytes):
    """What goes back, and into the session, is valid all the same."""
    found = {**FOUND, "content": [{**FOUND["content"][0], "title": "aXb"}]}
    stream = sse(START, opened(0, **CALL), closed(), opened(1, **found), closed(1), ENDED, STOP)
    events = decode(AnthropicReply(facts("anthropic"), CallIds(())), [stream.replace(b"aXb", broken)])
    blocks = said(events)
    assert sent_back(blocks)[1]["content"][0]["title"] == "a\ufffdb"
    for block in blocks:
        assert isinstance(block, ServerBlock)
        block.text.encode()
        block.state.data.encode()


@pytest.mark.parametrize("broken", [rb"a\ud83db", b"a\xffb"], ids=["half a character", "no text"])
def test_what_was_asked_may_hold_what_is_no_text(broken: bytes):
    asked = {**SEARCHED, "action": {"type": "search", "query": "aXb"}}
    stream = responses.sse(responses.CREATED, responses.done(0, **asked), responses.ended())
    decoder = OpenAIResponsesReply(facts("openai"), CallIds(()))
    (block,) = said(decode(decoder, [stream.replace(b"aXb", broken)]))
    assert isinstance(block, ServerBlock)
    assert json.loads(block.state.data)["action"]["query"] == "a\ufffdb"


def test_each_search_costs():
    prices = Prices(1, 1)
    assert cost_usd(Usage(web_searches=3), prices) == pytest.approx(0.03)

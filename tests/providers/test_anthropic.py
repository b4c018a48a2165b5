"""The Anthropic wire: every shape of reply becomes the same events, and no half reply passes for a whole one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.providers.anthropic_stream import (
    GOLDEN,
    START,
    STOP,
    arguments,
    closed,
    delta,
    ended,
    opened,
    opened_call,
    opened_text,
    sse,
    text,
)
from tests.providers.requests import blocks_of, decode, facts, failure_while_decoding, stop_of

from ostinato.events import (
    AnyModelEvent,
    BlockStart,
    BlockStop,
    InputJsonDelta,
    MessageStart,
    MessageStop,
    TextDelta,
    ThinkingDelta,
)
from ostinato.messages import ProviderState, RedactedThinking, Text, Thinking, ToolUse, Usage
from ostinato.ports import RequestMessage
from ostinato.providers.anthropic import AnthropicReply
from ostinato.providers.calls import CallIds

FACTS = facts("anthropic")

GOLDEN_EVENTS: list[AnyModelEvent] = [
    MessageStart("msg_1", "model-1-dated", Usage(10, 1, 90, 5)),
    BlockStart(0, "thinking"),
    ThinkingDelta(0, "考える"),
    BlockStop(0, Thinking("考える", ProviderState("anthropic", "model-1", "sig-1"))),
    BlockStart(1, "text"),
    TextDelta(1, "日本語 "),
    TextDelta(1, "🙂"),
    BlockStop(1, Text("日本語 🙂")),
    BlockStart(2, "tool_use", "toolu_1", "Read"),
    InputJsonDelta(2, '{"path": "a'),
    InputJsonDelta(2, '.txt"}'),
    BlockStop(2, ToolUse("toolu_1", "Read", {"path": "a.txt"})),
    MessageStop("tool_use", Usage(10, 7, 90, 5), "tool_use"),
]


def reply(messages: Sequence[RequestMessage] = ()) -> AnthropicReply:
    return AnthropicReply(FACTS, CallIds(messages))


def events_of(*events: Mapping[str, Any], messages: Sequence[RequestMessage] = ()) -> list[AnyModelEvent]:
    return decode(reply(messages), [sse(*events)])


def test_a_reply_with_everything_in_it():
    assert decode(reply(), [GOLDEN]) == GOLDEN_EVENTS


TOO_DEEP = ['{"a":' * depth + "1" + "}" * depth for depth in (102, 800, 100_000)]


def test_arguments_that_come_with_the_start_of_the_call_count():
    start = opened(0, type="tool_use", id="t", name="Read", input={"path": "a"})
    assert blocks_of(events_of(START, start, closed(), ended(), STOP)) == [
        ToolUse("t", "Read", {"path": "a"})
    ]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("end_turn", "end_turn"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("stop", "tool_use"),
        ("", "tool_use"),
        (None, "tool_use"),
        ("weird", "tool_use"),
    ],
)
def test_a_call_comes_through_whatever_the_stop_reason_says(raw: str | None, expected: str):
    got = events_of(START, opened_call(), closed(), ended(raw), STOP)
    assert blocks_of(got) == [ToolUse("toolu_1", "Read", {})]
    assert stop_of(got) == MessageStop(expected, Usage(10, 7, 90, 5), raw or "")


def test_a_zero_at_the_end_does_not_erase_what_the_start_counted():
    last = ended(input_tokens=0, output_tokens=7, cache_read_input_tokens=0)
    assert stop_of(events_of(START, last, STOP)).usage == Usage(10, 7, 90, 5)


def test_what_is_unknown_or_the_servers_own_is_passed_over():
    got = events_of(
        START,
        {"type": "brand_new", "index": 3, "delta": {"type": "odd"}},
        opened(0, type="server_tool_use", id="s", name="code_execution", input={}),
        arguments('{"code": 1}'),
        closed(),
        opened(1, type="code_execution_tool_result", tool_use_id="s", content=[]),
        closed(1),
        opened_text(2),
        delta(2, "citations_delta", citation={"url": "x"}),
        text("found", 2),
        closed(2),
        ended(),
        STOP,
    )
    assert blocks_of(got) == [Text("found")]
    assert got[1:3] == [BlockStart(0, "text"), TextDelta(0, "found")]


def test_text_of_a_block_that_was_never_opened_is_kept():
    assert blocks_of(events_of(START, text("hi"), closed(), ended(), STOP)) == [Text("hi")]


def test_redacted_thinking_keeps_its_data():
    state = ProviderState("anthropic", "model-1", "xyz")
    got = events_of(START, opened(0, type="redacted_thinking", data="xyz"), closed(), ended(), STOP)
    assert blocks_of(got) == [RedactedThinking(state)]


@pytest.mark.parametrize(
    ("code", "kind", "retry"),
    [
        ("overloaded_error", "overloaded", True),
        ("api_error", "server", True),
        ("rate_limit_error", "rate_limit", True),
        ("invalid_request_error", "invalid_request", False),
        ("", "server", True),
    ],
)
def test_an_error_event_means_what_its_type_says_and_what_came_before_it_was_given_out(
    code: str, kind: str, retry: bool
):
    got: list[AnyModelEvent] = []
    broken = {"type": "error", "error": {"type": code, "message": "no"}, "request_id": "req_1"}
    stream = sse(START, opened_text(), text("so"), closed(), broken)
    error = failure_while_decoding(reply(), [stream], into=got)
    assert (error.kind, error.retry, error.provider_code, error.request_id) == (kind, retry, code, "req_1")
    assert blocks_of(got) == [Text("so")]


def test_a_reply_without_an_id_gets_one():
    first = events_of({"type": "message_start", "message": {}}, ended(), STOP)[0]
    assert isinstance(first, MessageStart)
    assert first.response_id
    assert first.model == "model-1"


@pytest.mark.parametrize(
    ("given", "block"),
    [
        ({"path": "a"}, ToolUse("toolu_1", "Read", {"path": "a"})),
        ('{"path": "a"}', ToolUse("toolu_1", "Read", {"path": "a"})),
        ([1], ToolUse("toolu_1", "Read", {}, invalid_input="[1]")),
        (5, ToolUse("toolu_1", "Read", {}, invalid_input="5")),
    ],
)
def test_an_input_that_is_no_object_is_never_run_as_if_there_had_been_none(given: object, block: ToolUse):
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": given}
    events: list[AnyModelEvent] = []
    reply().read_whole(
        json.dumps({"id": "msg_1", "content": [call], "stop_reason": "tool_use"}).encode(), events
    )
    assert blocks_of(events) == [block]

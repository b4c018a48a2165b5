"""The Anthropic wire: every shape of reply becomes the same events, and no half reply passes for a whole one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.providers.anthropic_stream import (
    GOLDEN,
    SIMPLE,
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

from ostinato.errors import ModelError
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


def test_a_stream_cut_into_chunks_at_any_byte_gives_the_same_events():
    for place in range(len(GOLDEN)):
        assert decode(reply(), [GOLDEN[:place], GOLDEN[place:]]) == GOLDEN_EVENTS, place
    assert decode(reply(), [GOLDEN[i : i + 1] for i in range(len(GOLDEN))]) == GOLDEN_EVENTS


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(GOLDEN.replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(GOLDEN.replace(b"\n", b"\r"), id="cr"),
        pytest.param(GOLDEN.replace(b": ", b":", GOLDEN.count(b"\n")), id="no space anywhere"),
        pytest.param(b": hello\n\n" + GOLDEN.replace(b"\n\n", b"\n\n: beat\n\n"), id="comments"),
        pytest.param(b"\xef\xbb\xbf" + GOLDEN, id="byte order mark"),
        pytest.param(GOLDEN.rstrip(b"\n"), id="no last blank line"),
        pytest.param(b"\n".join(x for x in GOLDEN.split(b"\n") if x[:6] != b"event:"), id="no event names"),
    ],
)
def test_every_legal_framing_gives_the_same_events_at_every_cut(stream: bytes):
    for size in (1, 2, 3, 7, len(stream)):
        chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
        assert decode(reply(), chunks) == GOLDEN_EVENTS


def test_a_stream_without_its_message_stop_is_a_cut_and_may_be_sent_again():
    for place in range(GOLDEN.index(b"message_stop")):
        error = failure_while_decoding(reply(), [GOLDEN[:place]])
        assert (error.kind, error.retry) == ("stream_cut", True), place


def test_an_open_block_is_never_stopped():
    got: list[AnyModelEvent] = []
    stream = sse(START, opened_call(), arguments('{"path": "a"}'))
    error = failure_while_decoding(reply(), [stream], into=got)
    assert error.kind == "stream_cut"
    assert blocks_of(got) == []


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_call_cut_at_the_output_limit_is_dropped_whether_or_not_the_wire_closes_it(is_closed: bool):
    tail = [closed(1)] if is_closed else []
    got = events_of(
        START,
        opened_text(),
        text("so"),
        closed(),
        opened_call(1),
        arguments('{"path": "a', 1),
        *tail,
        ended("max_tokens"),
        STOP,
    )
    assert blocks_of(got) == [Text("so")]
    assert stop_of(got).stop_reason == "max_tokens"


TOO_DEEP = ['{"a":' * depth + "1" + "}" * depth for depth in (102, 800, 100_000)]


@pytest.mark.parametrize(
    "raw", ['{"path": "a', "[1]", '"text"', "nonsense", '{"a":1}{"b":2}', "[" * 100_000, *TOO_DEEP]
)
def test_arguments_that_are_no_json_object_are_kept_as_invalid_never_run(raw: str):
    got = events_of(START, opened_call(), arguments(raw), closed(), ended("tool_use"), STOP)
    assert blocks_of(got) == [ToolUse("toolu_1", "Read", {}, invalid_input=raw)]


def test_invalid_arguments_do_not_change_the_order_of_calls():
    got = events_of(
        START,
        opened_call(0, "a"),
        arguments("oops"),
        closed(),
        opened_call(1, "b"),
        closed(1),
        ended(),
        STOP,
    )
    assert blocks_of(got) == [ToolUse("a", "Read", {}, invalid_input="oops"), ToolUse("b", "Read", {})]


@pytest.mark.parametrize("pieces", [[], [""], ["  "], ["{", "}"]])
def test_a_call_without_arguments_has_an_empty_input(pieces: list[str]):
    deltas = [arguments(piece) for piece in pieces]
    got = events_of(START, opened_call(), *deltas, closed(), ended("tool_use"), STOP)
    assert blocks_of(got) == [ToolUse("toolu_1", "Read", {})]


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
        opened(0, type="server_tool_use", id="s", name="web_search", input={}),
        arguments('{"query": 1}'),
        closed(),
        opened(1, type="web_search_tool_result", tool_use_id="s", content=[]),
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


@pytest.mark.parametrize("call_id", ["", "a b", "toolu_1", "toolu_2\n", "x" * 65, "ü"])
def test_an_id_that_is_empty_illegal_or_taken_is_replaced_by_a_stable_one(call_id: str):
    history = (RequestMessage("assistant", (ToolUse("toolu_1", "Read", {}),)),)
    got = events_of(START, opened_call(0, call_id), closed(), ended(), STOP, messages=history)
    assert blocks_of(got) == [ToolUse("call_msg_1_0", "Read", {})]


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("", "unnamed_tool"),
        ("we ird\n", "we_ird_"),
        ("mcp.read/file", "mcp_read_file"),
        ("ü", "_"),
        ("x" * 500, "x" * 64),
        ("Read", "Read"),
    ],
)
def test_a_name_that_no_request_may_hold_is_replaced_so_that_the_call_can_be_answered(name: str, legal: str):
    start = opened(0, type="tool_use", id="toolu_1", name=name, input={})
    got = events_of(START, start, closed(), ended(), STOP)
    assert blocks_of(got) == [ToolUse("toolu_1", legal, {})]
    assert BlockStart(0, "tool_use", "toolu_1", legal) in got


def test_two_calls_under_one_id_become_two_ids():
    other = arguments('{"path": "b"}', 1)
    got = events_of(START, opened_call(0), closed(), opened_call(1), other, closed(1), ended(), STOP)
    assert [block.id for block in blocks_of(got) if isinstance(block, ToolUse)] == ["toolu_1", "call_msg_1_1"]


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


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"type":', b"<html>", b'{"x":' + b"[" * 100_000])
def test_an_event_that_cannot_be_read_is_a_malformed_response(data: bytes):
    error = failure_while_decoding(reply(), [sse(START), b"data: %s\n\n" % data, b"data: {}\n\n"])
    assert error.kind == "malformed_response"


@pytest.mark.parametrize("piece", [rb"a\ud835b", b"a\xffb"])
def test_half_a_character_becomes_a_replacement_character_not_a_failure(piece: bytes):
    stream = SIMPLE.replace(b'"hi"', b'"%s"' % piece)
    assert blocks_of(decode(reply(), [stream])) == [Text("a\ufffdb")]


def test_a_call_with_half_a_character_in_its_arguments_is_not_run_with_another():
    got = events_of(START, opened_call(), arguments(r'{"path": "a\ud835"}'), closed(), ended(), STOP)
    assert blocks_of(got) == [ToolUse("toolu_1", "Read", {}, invalid_input=r'{"path": "a\ud835"}')]


def test_nothing_after_the_end_of_the_message_counts():
    error = sse({"type": "error", "error": {"type": "api_error", "message": "late"}})
    assert decode(reply(), [SIMPLE + error])[-1] == MessageStop("end_turn", Usage(10, 7, 90, 5), "end_turn")


def test_a_reply_without_an_id_gets_one():
    first = events_of({"type": "message_start", "message": {}}, ended(), STOP)[0]
    assert isinstance(first, MessageStart)
    assert first.response_id
    assert first.model == "model-1"


def test_errors_are_model_errors_only():
    with pytest.raises(ModelError):
        decode(reply(), [b""])


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

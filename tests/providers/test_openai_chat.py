"""The Chat Completions wire: many servers with many gaps, one sequence of events; half a reply never passes for a whole."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.providers.openai_stream import DONE, GOLDEN, RESPONSE_ID, USAGE, calls, chunk, piece, usage
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
from ostinato.messages import ProviderState, Text, Thinking, ToolUse, Usage
from ostinato.ports import RequestMessage
from ostinato.providers.calls import CallIds
from ostinato.providers.openai_chat import OpenAIChatReply

FACTS = facts("openai")
GOLDEN_EVENTS: list[AnyModelEvent] = [
    MessageStart(RESPONSE_ID, "model-1-dated", Usage()),
    BlockStart(0, "thinking"),
    ThinkingDelta(0, "考える"),
    BlockStop(0, Thinking("考える", ProviderState("openai", "model-1", "reasoning_content"))),
    BlockStart(1, "text"),
    TextDelta(1, "日本語 "),
    TextDelta(1, "🙂"),
    BlockStop(1, Text("日本語 🙂")),
    BlockStart(2, "tool_use", "call_a", "Read"),
    InputJsonDelta(2, '{"path": "a'),
    InputJsonDelta(2, '.txt"}'),
    BlockStop(2, ToolUse("call_a", "Read", {"path": "a.txt"})),
    BlockStart(3, "tool_use", "call_b", "Read"),
    InputJsonDelta(3, '{"path": "b"}'),
    BlockStop(3, ToolUse("call_b", "Read", {"path": "b"})),
    MessageStop("tool_use", Usage(10, 7, 90), "tool_calls"),
]


def reply(messages: Sequence[RequestMessage] = ()) -> OpenAIChatReply:
    return OpenAIChatReply(FACTS, CallIds(messages), 1000)


def events_of(*chunks: bytes, messages: Sequence[RequestMessage] = ()) -> list[AnyModelEvent]:
    return decode(reply(messages), [b"".join(chunks)])


def test_a_reply_with_everything_in_it():
    assert decode(reply(), [GOLDEN]) == GOLDEN_EVENTS


def inputs_of(*chunks: bytes) -> list[Mapping[str, Any]]:
    events = events_of(*chunks, chunk(finish="tool_calls"), DONE)
    blocks = blocks_of(events)
    for place, event in enumerate(events):
        if isinstance(event, BlockStop):
            assert all(getattr(later, "index", None) != event.index for later in events[place + 1 :])
    assert all(isinstance(block, ToolUse) and block.invalid_input is None for block in blocks)
    return [block.input for block in blocks if isinstance(block, ToolUse)]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([(0, "a", "f", ""), (0, None, None, '{"n":1}'), (0, "b", "f", ""), (1, None, None, '{"n":2}')], id="head 0, tail 1"),
        pytest.param([(None, "a", "f", '{"n":1}'), (None, "b", "f", '{"n":2}')], id="no index"),
        pytest.param([(None, "a", "f", '{"n"'), (None, None, None, ":1}"), (None, "b", "f", '{"n":'), (None, None, None, "2}")], id="no index, in pieces"),
        pytest.param([(0, "", "f", '{"n":1}'), (0, "", "f", '{"n":2}')], id="no ids, all at index 0"),
        pytest.param([(None, None, "f", '{"n":1}'), (None, None, "f", '{"n":2}')], id="neither"),
        pytest.param([(0, "a", "f", '{"n"'), (1, "b", "f", '{"n"'), (0, None, None, ":1}"), (1, None, None, ":2}")], id="interleaved"),
        pytest.param([(0, "a", "f", '{"n"'), (1, "b", "f", '{"n"'), (None, "b", None, ":2}"), (None, "a", None, ":1}")], id="interleaved by id"),
        pytest.param([(0, "x", "f", '{"n":1}'), (1, "x", "f", '{"n":2}')], id="one id for two"),
        pytest.param([(0, "x", "f", '{"n"'), (1, "x", "f", '{"n"'), (0, None, None, ":1}"), (1, None, None, ":2}")], id="one id for two, interleaved"),
        pytest.param([(0, "a", None, None), (0, None, "f", '{"n":1}'), (1, "b", None, None), (1, None, "f", '{"n":2}')], id="name after id"),
        pytest.param([(0, None, "f", '{"n"'), (0, "a", None, ":1}"), (1, None, "f", '{"n":2}')], id="id comes late"),
        pytest.param([(0, "r1", "f", '{"n"'), (0, "r2", None, ":1"), (0, "r3", None, "}"), (1, "r4", "f", '{"n":2}')], id="a new id with each piece"),
        pytest.param([(0, "a", "f", '{"n"'), (0, "a", "f", ":1}"), (1, "b", "f", '{"n":'), (1, "b", "f", "2}")], id="head repeated"),
        pytest.param([(0, "a", "f", '{"n":1}'), (1, "b", "f", '{"n":2}'), (0, "a", None, ""), (0, None, None, " ")], id="empty afterthoughts"),
        pytest.param([(0, "a", "f", {"n": 1}), (1, "b", "f", {"n": 2})], id="objects for strings"),
        pytest.param([(0, "a", "f", ""), (0, None, None, '{"n":1}\n'), (1, "b", "f", '{"n":2} ')], id="white space"),
    ],
)  # fmt: skip
def test_pieces_of_two_calls_find_their_call(pieces: list[tuple[Any, ...]]):
    assert inputs_of(*(calls(piece(*fields)) for fields in pieces)) == [{"n": 1}, {"n": 2}]
    # The same in one chunk.
    assert inputs_of(calls(*(piece(*fields) for fields in pieces))) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("arguments", [None, {}])
def test_a_call_without_arguments_has_an_empty_input(arguments: Any):
    assert inputs_of(calls(piece(0, "a", "f", arguments))) == [{}]


def test_the_older_function_call_form_is_read():
    stream = [
        chunk({"function_call": {"name": "f", "arguments": '{"n":'}}),
        chunk({"function_call": {"arguments": "1}"}}),
    ]
    assert inputs_of(*stream) == [{"n": 1}]


def test_a_call_without_a_name_is_answered_not_lost():
    (block,) = blocks_of(events_of(calls(piece(0, "a", None, '{"n":1}')), chunk(finish="tool_calls"), DONE))
    assert block == ToolUse("a", "unnamed_tool", {"n": 1})


def test_calls_come_out_in_the_order_they_began_whichever_is_whole_first():
    pieces = [
        (0, "a", "f", '{"n"'),
        (1, "b", "f", '{"n":2}'),
        (2, "c", "f", '{"n":3}'),
        (0, None, None, ":1}"),
    ]
    assert inputs_of(*(calls(piece(*fields)) for fields in pieces)) == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_what_comes_after_the_finish_reason_is_no_part_of_the_reply():
    late = [chunk({"content": "late"}), calls(piece(0, "a", "f", "{}")), chunk(finish="length")]
    got = events_of(chunk({"content": "x"}), chunk(finish="stop"), *late, usage(), DONE)
    assert blocks_of(got) == [Text("x")]
    assert stop_of(got) == MessageStop("end_turn", Usage(10, 7, 90), "stop")


def test_a_whole_call_is_ready_as_soon_as_the_next_begins():
    got: list[AnyModelEvent] = []
    head = [calls(piece(0, "a", "f", '{"n":1}')), calls(piece(1, "b", "f", "{"))]
    failure_while_decoding(reply(), head, into=got)
    assert blocks_of(got) == [ToolUse("a", "f", {"n": 1})]


@pytest.mark.parametrize(
    ("finish", "with_calls", "without"),
    [
        ("stop", "tool_use", "end_turn"),
        ("STOP", "tool_use", "end_turn"),
        ("eos", "tool_use", "end_turn"),
        ("tool_calls", "tool_use", "tool_use"),
        ("function_call", "tool_use", "tool_use"),
        ("length", "max_tokens", "max_tokens"),
        ("content_filter", "refusal", "refusal"),
        ("weird", "tool_use", "end_turn"),
    ],
)
def test_every_finish_reason_ends_the_reply_and_its_own_word_is_kept(
    finish: str, with_calls: str, without: str
):
    text = chunk({"content": "x"})
    call = calls(piece(0, "a", "f", "{}"))
    assert stop_of(events_of(text, chunk(finish=finish))) == MessageStop(without, Usage(), finish)
    got = events_of(text, call, chunk(finish=finish))
    assert blocks_of(got) == [Text("x"), ToolUse("a", "f", {})]
    assert stop_of(got) == MessageStop(with_calls, Usage(), finish)


@pytest.mark.parametrize("finish", ["", None])
def test_done_without_a_finish_reason_is_an_end(finish: str | None):
    got = events_of(chunk({"content": "x"}), chunk(finish=finish), DONE)
    assert blocks_of(got) == [Text("x")]
    assert stop_of(got).stop_reason == "end_turn"


def test_an_empty_finish_reason_alone_is_no_end():
    assert failure_while_decoding(reply(), [chunk({"content": "x"}, finish="")]).kind == "stream_cut"


def test_a_finish_reason_of_error_is_a_failure_that_may_be_tried_again():
    error = failure_while_decoding(reply(), [chunk({"content": "x"}, finish="error"), DONE])
    assert (error.kind, error.retry) == ("server", True)


@pytest.mark.parametrize(("completion_tokens", "expected"), [(1000, "max_tokens"), (7, "tool_use")])
def test_a_cut_call_that_the_server_calls_complete_is_invalid_and_the_count_tells_why(
    completion_tokens: int, expected: str
):
    got = events_of(
        calls(piece(0, "a", "f", '{"a":"b')),
        chunk(finish="tool_calls"),
        usage(completion_tokens=completion_tokens),
        DONE,
    )
    assert blocks_of(got) == [ToolUse("a", "f", {}, invalid_input='{"a":"b')]
    assert stop_of(got).stop_reason == expected


def test_missing_and_extra_fields_are_tolerated():
    got = events_of(
        chunk(choices=[], prompt_filter_results=[{"x": 1}]),
        b'data: {"id":"x"}\n\n',
        chunk(choices=[{}]),
        chunk(choices=[{"delta": None}]),
        chunk({"content": None, "tool_calls": None, "audio": {}}),
        chunk({"content": [{"type": "text", "text": "hi"}]}),
        chunk(finish="stop"),
        usage(),
    )
    assert blocks_of(got) == [Text("hi")]
    assert stop_of(got).usage == Usage(10, 7, 90)


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk({"content": "x"}, usage=USAGE), chunk(finish="stop")],
        [chunk({"content": "x"}), chunk(finish="stop", usage=USAGE)],
        [chunk({"content": "x"}), chunk(choices=[{"finish_reason": "stop", "usage": USAGE}])],
        [chunk({"content": "x"}, finish="stop"), usage(), usage(prompt_tokens=0, prompt_tokens_details=None)],
    ],
)
def test_usage_counts_wherever_it_stands(chunks: list[bytes]):
    assert stop_of(events_of(*chunks)).usage == Usage(10, 7, 90)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"prompt_tokens_details": None}, Usage(100, 7)),
        ({"prompt_tokens_details": None, "prompt_cache_hit_tokens": 40}, Usage(60, 7, 40)),
        ({"prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 30}}, Usage(20, 7, 50, 30)),
        ({"prompt_tokens_details": {"cached_tokens": 500}}, Usage(0, 7, 500)),
        ({"prompt_tokens": None, "completion_tokens": None, "prompt_tokens_details": None}, Usage()),
    ],
)
def test_cached_tokens_are_counted_apart(fields: Mapping[str, Any], expected: Usage):
    assert stop_of(events_of(chunk(finish="stop"), usage(**fields))).usage == expected


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "slow down", "type": "rate_limit_exceeded", "code": None}, "rate_limit"),
        ({"message": "the request exceeds the available context size", "code": 400}, "prompt_too_long"),
        ({"message": "boom"}, "server"),
        ("boom", "server"),
    ],
)
def test_an_error_in_the_stream_is_classified_and_what_was_complete_is_given_out(error: Any, kind: str):
    got: list[AnyModelEvent] = []
    broken = b"data: %s\n\n" % json.dumps({"error": error}).encode()
    stream = [calls(piece(0, "a", "f", "{}")), calls(piece(1, "b", "f", "{}")) + broken]
    assert failure_while_decoding(reply(), stream, into=got).kind == kind
    assert blocks_of(got) == [ToolUse("a", "f", {})]


def test_an_error_under_an_event_name_is_an_error_too():
    stream = b'event: error\ndata: {"message": "overloaded", "code": "overloaded"}\n\n'
    assert failure_while_decoding(reply(), [stream]).kind == "overloaded"


def test_replies_under_one_short_id_are_told_apart():
    def first(**fields: Any) -> str:
        event = events_of(chunk({"content": "x"}, **fields), chunk(finish="stop", **fields))[0]
        assert isinstance(event, MessageStart)
        return event.response_id

    for given in ("chatcmpl-7", "", None):
        assert first(id=given) != first(id=given)
    assert first(id=RESPONSE_ID) == RESPONSE_ID


def test_text_and_thinking_alternate_as_they_come():
    got = events_of(
        chunk({"reasoning": "r1"}),
        chunk({"content": "t1"}),
        chunk({"reasoning": "r2"}),
        chunk({"content": "t2"}, finish="stop"),
    )
    state = ProviderState("openai", "model-1", "reasoning")
    assert blocks_of(got) == [Thinking("r1", state), Text("t1"), Thinking("r2", state), Text("t2")]


def test_a_refusal_is_text_and_a_reason():
    got = events_of(chunk({"refusal": "no"}), chunk(finish="stop"))
    assert blocks_of(got) == [Text("no")]
    assert stop_of(got).stop_reason == "refusal"

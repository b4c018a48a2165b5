"""The Responses wire, replies: its stream becomes our events, whatever a server leaves out."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.providers import responses_stream as wire
from tests.providers.requests import (
    blocks_of,
    decode,
    facts,
    failure_while_decoding,
    stop_of,
)
from tests.providers.responses_requests import asked_and_answered

from ostinato.events import (
    AnyModelEvent,
    BlockStart,
    BlockStop,
    InputJsonDelta,
    MessageStart,
    TextDelta,
    ThinkingDelta,
)
from ostinato.messages import (
    AssistantBlock,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from ostinato.ports import RequestMessage
from ostinato.providers.calls import CallIds
from ostinato.providers.openai_responses import OpenAIResponsesReply

FACTS = facts("openai", thinking_form="effort", takes_temperature=False)


def reply(messages: Sequence[RequestMessage] = ()) -> OpenAIResponsesReply:
    return OpenAIResponsesReply(FACTS, CallIds(messages))


def events_of(*events: Mapping[str, Any]) -> list[AnyModelEvent]:
    return decode(reply(), [wire.sse(*events)])


# ------------------------------------------------------------------------------------------------ replies


def test_a_reply_with_everything_in_it():
    events = decode(reply(), [wire.GOLDEN])
    assert events[0] == MessageStart(wire.RESPONSE_ID, "model-1-dated")
    thought, said, first, second = blocks_of(events)
    assert isinstance(thought, Thinking)
    assert thought.thinking == "**Plan**\n\n考える\n\n**Act**"
    assert said == Text("日本語 🙂")
    assert first == ToolUse("call_2", "Read", {"path": "a.txt"})
    assert second == ToolUse("call_3", "Read", {"path": "b"})
    stop = stop_of(events)
    assert (stop.stop_reason, stop.usage) == ("tool_use", Usage(6, 17, 90, 4, 10))
    assert [event.index for event in events if isinstance(event, BlockStart)] == [0, 1, 2, 3]


def test_a_call_may_run_as_soon_as_its_item_is_done():
    whole = wire.sse(
        wire.CREATED,
        wire.added(0, **wire.function_call(0)),
        wire.done(0, **wire.function_call(0, arguments="{}")),
    )
    events: list[AnyModelEvent] = []
    error = failure_while_decoding(reply(), [whole], into=events)
    assert (error.kind, error.retry) == ("stream_cut", True)
    assert blocks_of(events) == [ToolUse("call_0", "Read", {})]


def test_what_was_thought_is_taken_from_the_finished_item_and_goes_back_as_it_came():
    thought = blocks_of(decode(reply(), [wire.GOLDEN]))[0]
    assert isinstance(thought, Thinking)
    assert thought.state is not None
    assert (thought.state.provider, thought.state.model) == ("openai", "model-1")
    item, call, _ = asked_and_answered(thought, ToolUse("call_1", "Read", {}))
    assert item == {key: value for key, value in wire.GOLDEN_OUTPUT[0].items() if value is not None}
    assert call["type"] == "function_call"


def test_thoughts_without_a_summary_are_kept_all_the_same():
    events = events_of(
        wire.CREATED, wire.added(0, **wire.reasoning(0)), wire.done(0, **wire.reasoning(0)), wire.ended()
    )
    (block,) = blocks_of(events)
    assert isinstance(block, RedactedThinking)
    item, _, _ = asked_and_answered(block, ToolUse("call_1", "Read", {}))
    assert item == {"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "sealed"}


def test_thoughts_that_cannot_be_sent_back_have_no_state():
    bare = wire.reasoning(0, encrypted_content=None, content=[{"type": "reasoning_text", "text": "hm"}])
    assert blocks_of(events_of(wire.CREATED, wire.done(0, **bare), wire.ended())) == [Thinking("hm")]


@pytest.mark.parametrize(
    ("end", "calls", "expected"),
    [
        (wire.ended(), False, "end_turn"),
        (wire.ended(), True, "tool_use"),
        (wire.incomplete("max_output_tokens"), False, "max_tokens"),
        (wire.incomplete("max_output_tokens"), True, "max_tokens"),
        (wire.incomplete("content_filter"), False, "refusal"),
        (wire.incomplete(None), False, "max_tokens"),
        (wire.incomplete("steered"), False, "end_turn"),
        ({"type": "response.completed", "response": wire.response("incomplete")}, False, "max_tokens"),
        ({"type": "response.completed"}, True, "tool_use"),
    ],
)
def test_why_a_reply_ended(end: Mapping[str, Any], calls: bool, expected: str):
    item = wire.function_call(0, arguments="{}") if calls else wire.message(0, "hi")
    assert stop_of(events_of(wire.CREATED, wire.done(0, **item), end)).stop_reason == expected


def test_a_refusal_is_shown_and_named():
    events = events_of(
        wire.CREATED, wire.added(0, **wire.message(0)), wire.refusal("I will not."), wire.ended()
    )
    assert blocks_of(events) == [Text("I will not.")]
    assert stop_of(events).stop_reason == "refusal"


def test_thoughts_cut_before_their_end_are_shown_and_never_sent_back():
    # What the item begins with may be half of its sealed content.
    begun = wire.added(0, **wire.reasoning(0, encrypted_content="half"))
    for end in (wire.incomplete("max_output_tokens"), wire.ended()):
        assert blocks_of(events_of(wire.CREATED, begun, wire.summary("hm"), end)) == [Thinking("hm")]


@pytest.mark.parametrize(
    ("events", "blocks"),
    [
        pytest.param((wire.text("hi"), wire.ended()), [Text("hi")], id="nothing but a delta"),
        pytest.param((wire.done(0, **wire.message(0, "hi")), wire.ended()), [Text("hi")], id="no delta"),
        pytest.param((wire.ended(output=wire.SIMPLE_OUTPUT),), [Text("hi")], id="only the end"),
        pytest.param(
            (wire.CREATED, wire.text("a", part=0), wire.text("b", part=1), wire.ended()),
            [Text("a"), Text("b")],
            id="two parts",
        ),
        pytest.param(
            (
                {"type": "response.output_text.delta", "delta": "a"},
                {"type": "response.output_text.delta", "delta": "b"},
                wire.ended(),
            ),
            [Text("ab")],
            id="no index and no id",
        ),
        pytest.param(
            (
                wire.added(0, **wire.message(0)),
                wire.text("a"),
                wire.done(0, **wire.message(0, "a")),
                wire.added(0, **wire.function_call(0)),
                wire.done(0, **wire.function_call(0, arguments={"path": "b"})),
                wire.ended(),
            ),
            [Text("a"), ToolUse("call_0", "Read", {"path": "b"})],
            id="every index is zero, arguments as an object",
        ),
        pytest.param(
            (wire.CREATED, wire.text("a"), wire.ended(output=[wire.message(0, "a"), wire.function_call(1, arguments="{}")])),
            [Text("a"), ToolUse("call_1", "Read", {})],
            id="a call that only the end tells of",
        ),
        pytest.param(
            (
                wire.added(0, **wire.function_call(0, name="", status="in_progress")),
                wire.arguments('{"path"'),
                wire.arguments(': "a"}'),
                wire.done(0, **wire.function_call(0, arguments=None)),
                wire.ended(),
            ),
            [ToolUse("call_0", "Read", {"path": "a"})],
            id="the name comes late, the arguments only in pieces",
        ),
        pytest.param(
            (
                wire.added(0, type="file_search_call", id="fs_0", status="in_progress"),
                {"type": "response.file_search_call.searching", "output_index": 0, "item_id": "fs_0"},
                wire.done(0, type="file_search_call", id="fs_0", status="completed"),
                wire.done(1, **wire.message(1, "hi")),
                wire.ended(),
            ),
            [Text("hi")],
            id="what the server does on its own account, of another kind",
        ),
        pytest.param(
            (
                wire.done(0, **wire.message(0, "hi")),
                wire.done(0, **wire.message(0, "hi")),
                wire.done(1, **wire.function_call(1, arguments="{}")),
                wire.done(1, **wire.function_call(1, arguments="{}")),
                wire.ended(output=[wire.message(0, "hi"), wire.function_call(1, arguments="{}")]),
            ),
            [Text("hi"), ToolUse("call_1", "Read", {})],
            id="everything said twice",
        ),
        pytest.param(
            (
                wire.added(0, **wire.function_call(0, status="in_progress")),
                wire.text("hi", 0),
                wire.done(0, **wire.function_call(0, arguments="{}")),
                wire.ended(),
            ),
            [ToolUse("call_0", "Read", {}), Text("hi")],
            id="text under the index of a call",
        ),
    ],
)  # fmt: skip
def test_what_servers_leave_out_or_get_wrong(
    events: Sequence[Mapping[str, Any]], blocks: list[AssistantBlock]
):
    got = events_of(*events)
    assert isinstance(got[0], MessageStart)
    assert blocks_of(got) == blocks
    shown: dict[int, str] = {}
    for event in got:
        match event:
            case TextDelta():
                shown[event.index] = shown.get(event.index, "") + event.text
            case InputJsonDelta():
                shown[event.index] = shown.get(event.index, "") + event.partial_json
            case ThinkingDelta():
                shown[event.index] = shown.get(event.index, "") + event.thinking
            case _:
                pass
    stops = [event for event in got if isinstance(event, BlockStop)]
    assert [shown[stop.index] for stop in stops if isinstance(stop.block, Text)] == [
        block.text for block in blocks if isinstance(block, Text)
    ]


@pytest.mark.parametrize(
    ("data", "kind", "retry"),
    [
        ({"type": "error", "code": "server_error", "message": "oops"}, "server", True),
        ({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow"}}, "rate_limit", True),
        ({"error": {"code": "server_is_overloaded", "message": "later"}}, "overloaded", True),
        (wire.ended("failed", error={"code": "server_error", "message": "oops"}), "server", True),
        (
            wire.ended("failed", error={"code": "context_length_exceeded", "message": "too long"}),
            "prompt_too_long",
            False,
        ),
        (wire.ended("failed", error={"code": "invalid_prompt", "message": "flagged"}), "refused", False),
        (wire.ended("failed", error={"code": "image_too_large", "message": "big"}), "media_too_large", False),
        (
            wire.ended("failed", error={"code": "invalid_base64_image", "message": "bad"}),
            "invalid_media",
            False,
        ),
        (wire.ended("cancelled"), "stream_cut", True),
    ],
)
def test_an_error_in_the_stream_means_what_it_says_and_what_came_before_was_given_out(
    data: Mapping[str, Any], kind: str, retry: bool
):
    begun = wire.sse(wire.CREATED, wire.text("hi"))
    events: list[AnyModelEvent] = []
    error = failure_while_decoding(reply(), [begun, b"data: %s\n\n" % json.dumps(data).encode()], into=events)
    assert (error.kind, error.retry) == (kind, retry)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["hi"]

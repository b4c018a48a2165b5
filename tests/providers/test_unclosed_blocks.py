"""A server that leaves out where a block ends is understood by what comes next; half a call at the output limit is none."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.providers import openai_stream as chat
from tests.providers import responses_stream as responses
from tests.providers.anthropic_stream import (
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
from tests.providers.requests import blocks_of, decode, facts, stop_of
from tests.providers.wires import WIRES, Call

from ostinato.events import TextDelta
from ostinato.messages import AssistantBlock, ProviderState, Text, Thinking, ToolUse

Events = Sequence[Mapping[str, Any]]
THOUGHT = (
    opened(0, type="thinking", thinking="", signature=""),
    delta(0, "thinking_delta", thinking="hm"),
    delta(0, "signature_delta", signature="sig"),
)
SEALED = Thinking("hm", ProviderState("anthropic", facts("anthropic").id, "sig"))
SAID = (opened_text(1), text("hi", 1))
ASKED = (opened_call(2), arguments('{"path": "a"}', 2))
READ = ToolUse("toolu_1", "Read", {"path": "a"})


def anthropic(*events: Mapping[str, Any]) -> list[AssistantBlock]:
    return blocks_of(decode(WIRES["anthropic"].decoder(()), [sse(START, *events, STOP)]))


@pytest.mark.parametrize(
    ("events", "blocks"),
    [
        ((opened_text(), text("hi")), [Text("hi")]),
        ((text("hi"),), [Text("hi")]),
        ((*THOUGHT, *SAID), [SEALED, Text("hi")]),
        ((*THOUGHT, *SAID, *ASKED), [SEALED, Text("hi"), READ]),
        ((*THOUGHT, *SAID, *ASKED, closed(2)), [SEALED, Text("hi"), READ]),
        ((*THOUGHT, closed(0), *SAID, closed(1), *ASKED), [SEALED, Text("hi"), READ]),
        # All under one index.
        ((opened_text(), text("a"), opened_text(), text("b")), [Text("a"), Text("b")]),
        ((opened_call(), opened_call(0, "toolu_2")), [ToolUse("toolu_1", "Read", {}), ToolUse("toolu_2", "Read", {})]),
        # Something that is not for us in between.
        ((opened_text(), text("a"), opened(1, type="server_tool_use", id="x", name="web")), [Text("a")]),
    ],
)  # fmt: skip
def test_blocks_that_nobody_closed_are_kept_in_their_order(events: Events, blocks: list[AssistantBlock]):
    reason = "tool_use" if any(isinstance(block, ToolUse) for block in blocks) else "end_turn"
    assert anthropic(*events, ended(reason)) == blocks


def test_what_was_shown_of_them_is_what_is_kept():
    events = decode(WIRES["anthropic"].decoder(()), [sse(START, opened_text(), text("hi"), ended(), STOP)])
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "hi"
    assert stop_of(events).stop_reason == "end_turn"


@pytest.mark.parametrize("half", ["", " ", '{"path": "a'])
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_call_that_the_output_limit_cut_is_none_on_the_anthropic_wire(half: str, *, is_closed: bool):
    end = (closed(2),) if is_closed else ()
    stream = sse(START, *SAID, closed(1), *ASKED[:1], arguments(half, 2), *end, ended("max_tokens"), STOP)
    found = decode(WIRES["anthropic"].decoder(()), [stream])
    assert (blocks_of(found), stop_of(found).stop_reason) == ([Text("hi")], "max_tokens")


@pytest.mark.parametrize("half", ["", " ", '{"path": "a'])
def test_a_call_that_the_output_limit_cut_is_none_on_the_chat_wire(half: str):
    calls = [chat.piece(0, "toolu_1", "Read", '{"path": "a"}'), chat.piece(1, "call_2", "Read", half)]
    stream = b"".join(chat.calls(piece) for piece in calls) + chat.chunk(finish="length") + chat.DONE
    found = decode(WIRES["chat"].decoder(()), [stream])
    assert (blocks_of(found), stop_of(found).stop_reason) == ([READ], "max_tokens")


@pytest.mark.parametrize("half", ["", " ", '{"path": "a'])
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_call_that_the_output_limit_cut_is_none_on_the_responses_wire(half: str, *, is_closed: bool):
    item = {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "call_1",
        "name": "Read",
        "status": "incomplete",
    }
    events = [responses.CREATED, responses.added(0, **item, arguments="")]
    if half:
        events.append({
            "type": "response.function_call_arguments.delta",
            "output_index": 0,
            "item_id": "fc_1",
            "delta": half,
        })
    if is_closed:
        events.append(responses.done(0, **item, arguments=half))
    for output in ([], [item | {"arguments": half}]):
        ending = responses.response(
            "incomplete", output=output, incomplete_details={"reason": "max_output_tokens"}
        )
        stream = responses.sse(*events, {"type": "response.incomplete", "response": ending})
        found = decode(WIRES["responses"].decoder(()), [stream])
        assert (blocks_of(found), stop_of(found).stop_reason) == ([], "max_tokens")


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_without_arguments_is_one_where_nothing_was_cut(wire: str):
    stream = WIRES[wire].calls([Call("call_1", "Look", []), Call("call_2", "Look", [])])
    found = decode(WIRES[wire].decoder(()), [stream])
    assert blocks_of(found) == [ToolUse("call_1", "Look", {}), ToolUse("call_2", "Look", {})]
    assert stop_of(found).stop_reason == "tool_use"

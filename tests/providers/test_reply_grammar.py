"""Whatever a server sends, in whatever order: blocks begin before they stop, once each, and every failure is a ModelError."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.providers import anthropic_stream, openai_stream, responses_stream
from tests.providers.requests import facts

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
from ostinato.messages import Text, ToolUse
from ostinato.providers.anthropic import AnthropicReply
from ostinato.providers.calls import CallIds
from ostinato.providers.openai_chat import OpenAIChatReply
from ostinato.providers.openai_responses import OpenAIResponsesReply
from ostinato.providers.streaming import BatchReader, ReplyDecoder

ANTHROPIC: Sequence[bytes] = [
    anthropic_stream.sse(event)
    for place in (0, 1)
    for event in (
        anthropic_stream.START,
        anthropic_stream.PING,
        anthropic_stream.opened_text(place),
        anthropic_stream.opened_call(place, f"toolu_{place}"),
        anthropic_stream.opened(place, type="thinking", thinking="", signature=""),
        anthropic_stream.opened(place, type="server_tool_use", id="s"),
        anthropic_stream.text("hi", place),
        anthropic_stream.arguments('{"a"', place),
        anthropic_stream.arguments(":1}", place),
        anthropic_stream.delta(place, "thinking_delta", thinking="hm"),
        anthropic_stream.closed(place),
        anthropic_stream.ended("tool_use"),
        anthropic_stream.ended("max_tokens"),
        anthropic_stream.STOP,
    )
]
CHAT: Sequence[bytes] = [
    openai_stream.chunk({"content": "hi"}),
    openai_stream.chunk({"reasoning_content": "hm"}),
    openai_stream.chunk({"content": "hi"}, "stop"),
    openai_stream.chunk(choices=[]),
    openai_stream.chunk(finish="length"),
    openai_stream.chunk(finish="tool_calls"),
    openai_stream.usage(),
    openai_stream.DONE,
    *(
        openai_stream.calls(openai_stream.piece(index, call_id, name, arguments))
        for index in (0, 1, None)
        for call_id in ("call_a", "", None)
        for name, arguments in (("Read", ""), ("Read", "{}"), (None, '{"a"'), (None, ":1}"))
    ),
]
RESPONSES: Sequence[bytes] = [
    responses_stream.sse(event)
    for place in (0, 1)
    for event in (
        responses_stream.CREATED,
        responses_stream.added(place, **responses_stream.message(place)),
        responses_stream.added(place, **responses_stream.function_call(place)),
        responses_stream.added(place, **responses_stream.reasoning(place)),
        responses_stream.text("hi", place),
        responses_stream.text("ho", place, 1),
        responses_stream.refusal("no", place),
        responses_stream.summary("hm", place),
        responses_stream.arguments('{"a":1}', place),
        responses_stream.done(place, **responses_stream.message(place, "hi")),
        responses_stream.done(place, **responses_stream.function_call(place, arguments="{}")),
        responses_stream.done(place, **responses_stream.function_call(place, arguments="{")),
        responses_stream.done(place, **responses_stream.reasoning(place, "hm")),
        responses_stream.done(place, type="web_search_call", id="ws"),
        responses_stream.ended(),
        responses_stream.ended(output=[responses_stream.function_call(place, arguments="{}")]),
        responses_stream.incomplete("max_output_tokens"),
    )
]

WIRES: Mapping[str, tuple[Sequence[bytes], Callable[[], ReplyDecoder]]] = {
    "anthropic": (ANTHROPIC, lambda: AnthropicReply(facts("anthropic"), CallIds(()))),
    "chat": (CHAT, lambda: OpenAIChatReply(facts("openai"), CallIds(()), 1000)),
    "responses": (RESPONSES, lambda: OpenAIResponsesReply(facts("openai"), CallIds(()))),
}


@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_events_in_any_order_give_a_reply_or_a_failure(wire: str, data: Any):
    pool, decoder = WIRES[wire]
    chunks: list[bytes] = data.draw(st.lists(st.sampled_from(pool), max_size=14))
    reader, events = BatchReader(decoder()), list[AnyModelEvent]()
    failed = False
    try:
        for chunk in (*chunks, None):
            reader.take(chunk, events)
    except ModelError:
        failed = True
    check_grammar(events, is_complete=not failed)


def check_grammar(events: Sequence[AnyModelEvent], *, is_complete: bool) -> None:
    started: dict[int, BlockStart] = {}
    stopped: set[int] = set()
    shown: dict[int, str] = {}
    finished: list[ToolUse] = []
    call_ids: set[str] = set()
    for event in events:
        match event:
            case BlockStart():
                assert event.index == len(started)
                assert event.tool_use_id not in call_ids
                started[event.index] = event
                call_ids |= {event.tool_use_id} - {""}
            case TextDelta() | ThinkingDelta() | InputJsonDelta():
                assert event.index in started
                assert event.index not in stopped
                if isinstance(event, TextDelta):
                    shown[event.index] = shown.get(event.index, "") + event.text
            case BlockStop():
                assert event.index in started
                assert event.index not in stopped
                stopped.add(event.index)
                start = started[event.index]
                # If it was finished before, the same call was sent twice, and it goes by the id of the first.
                if event.block not in finished:
                    _check_block(event, start, shown.get(event.index, ""))
                if isinstance(event.block, ToolUse):
                    finished.append(event.block)
            case MessageStart() | MessageStop():
                pass
    assert sum(isinstance(event, MessageStop) for event in events) == int(is_complete)
    if is_complete:
        assert isinstance(events[-1], MessageStop)


def _check_block(stop: BlockStop, start: BlockStart, shown: str) -> None:
    block = stop.block
    if isinstance(block, ToolUse):
        assert (start.block_type, start.tool_use_id, start.name) == ("tool_use", block.id, block.name)
    if isinstance(block, Text):
        assert (start.block_type, shown) == ("text", block.text)

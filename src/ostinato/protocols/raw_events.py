"""A model's reply as it streams, told as the raw events of the Messages API, whichever wire it came over."""

from collections.abc import Iterator
from typing import assert_never

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
from ostinato.messages import RedactedThinking, ServerBlock, Thinking
from ostinato.protocols.json_lines import JsonObject
from ostinato.protocols.wire_blocks import assistant_block, usage_object


def raw_events(event: AnyModelEvent) -> Iterator[JsonObject]:
    """None, one or several raw events.

    A redacted thinking block, and what the provider did itself, starts only when it is complete, because its start holds its data;
    a signature comes as its own delta before the block stops.
    """
    match event:
        case MessageStart():
            yield {"type": "message_start", "message": _empty_message(event)}
        case BlockStart():
            if event.block_type not in {"redacted_thinking", "server_block"}:
                yield _started(event.index, _empty_block(event))
        case TextDelta(index, text):
            yield _delta(index, {"type": "text_delta", "text": text})
        case ThinkingDelta(index, thinking):
            yield _delta(index, {"type": "thinking_delta", "thinking": thinking})
        case InputJsonDelta(index, partial_json):
            yield _delta(index, {"type": "input_json_delta", "partial_json": partial_json})
        case BlockStop():
            yield from _stopped(event)
        case MessageStop():
            delta = {"stop_reason": event.stop_reason, "stop_sequence": None}
            yield {"type": "message_delta", "delta": delta, "usage": usage_object(event.usage)}
            yield {"type": "message_stop"}
        case _:
            assert_never(event)


def _empty_message(event: MessageStart) -> JsonObject:
    return {
        "id": event.response_id,
        "type": "message",
        "role": "assistant",
        "model": event.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage_object(event.usage),
    }


def _empty_block(event: BlockStart) -> JsonObject:
    if event.block_type == "tool_use":
        return {"type": "tool_use", "id": event.tool_use_id, "name": event.name, "input": {}}
    if event.block_type == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": ""}


def _stopped(event: BlockStop) -> Iterator[JsonObject]:
    match event.block:
        case RedactedThinking() | ServerBlock():
            yield _started(event.index, assistant_block(event.block))
        case Thinking(state=state) if state is not None:
            yield _delta(event.index, {"type": "signature_delta", "signature": state.data})
        case _:
            pass
    yield {"type": "content_block_stop", "index": event.index}


def _started(index: int, block: JsonObject) -> JsonObject:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, delta: JsonObject) -> JsonObject:
    return {"type": "content_block_delta", "index": index, "delta": delta}

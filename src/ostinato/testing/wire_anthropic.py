"""The Anthropic Messages wire from the server's side."""

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec

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
from ostinato.messages import (
    AssistantBlock,
    RedactedThinking,
    ServerBlock,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from ostinato.testing.script import Reply
from ostinato.testing.strict_anthropic import find_anthropic_problems
from ostinato.testing.wire import Answering, WireError, server_sent
from ostinato.testing.wire_rules import Problem, WireRules

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class AnthropicWire:
    request_id_header = "request-id"

    def problems(self, body: dict[str, Any], rules: WireRules) -> tuple[Problem, ...]:
        return find_anthropic_problems(body, rules)

    def error_body(self, error: WireError) -> dict[str, Any]:
        kind = error.type or ERROR_TYPES.get(error.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": error.message}}

    def error_event(self, error: WireError) -> bytes:
        return server_sent(self.error_body(error), "error")

    def events(self, event: AnyModelEvent, answering: Answering) -> tuple[bytes, ...]:
        return tuple(server_sent(data, data["type"]) for data in _stream_data(event, answering))

    def whole(self, reply: Reply, answering: Answering) -> dict[str, Any]:
        return {
            **_message_head(answering),
            "content": [wire_block(block) for block in answering.blocks],
            "stop_reason": reply.reason,
            "usage": _usage(reply.usage),
        }

    def key_in(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")

    def key_error(self, key: str) -> WireError:
        return WireError(401, "invalid x-api-key" if key else "x-api-key header is required")

    def model_error(self, model: str) -> WireError:
        return WireError(404, f"model: {model}")


def wire_block(block: AssistantBlock) -> dict[str, Any]:
    """A complete block as the API writes it."""
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking():
            return {
                "type": "thinking",
                "thinking": block.thinking,
                "signature": block.state.data if block.state else "",
            }
        case RedactedThinking():
            return {"type": "redacted_thinking", "data": block.state.data}
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
        case ServerBlock():
            return msgspec.json.decode(block.state.data, type=dict[str, Any])
        case _:
            assert_never(block)


def _message_head(answering: Answering) -> dict[str, Any]:
    return {
        "id": answering.response_id,
        "type": "message",
        "role": "assistant",
        "model": answering.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
        "server_tool_use": {"web_search_requests": usage.web_searches},
    }


def _stream_data(event: AnyModelEvent, answering: Answering) -> tuple[dict[str, Any], ...]:
    match event:
        case MessageStart():
            return (
                {
                    "type": "message_start",
                    "message": {**_message_head(answering), "usage": _usage(event.usage)},
                },
            )
        case BlockStart():
            block = _opened(answering.blocks[event.index])
            return ({"type": "content_block_start", "index": event.index, "content_block": block},)
        case TextDelta():
            return (_delta(event.index, {"type": "text_delta", "text": event.text}),)
        case ThinkingDelta():
            return (_delta(event.index, {"type": "thinking_delta", "thinking": event.thinking}),)
        case InputJsonDelta():
            return (_delta(event.index, {"type": "input_json_delta", "partial_json": event.partial_json}),)
        case BlockStop():
            return _block_end(event)
        case MessageStop():
            ending = {"stop_reason": event.stop_reason, "stop_sequence": None}
            return (
                {"type": "message_delta", "delta": ending, "usage": _usage(event.usage)},
                {"type": "message_stop"},
            )
        case _:
            assert_never(event)


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _opened(block: AssistantBlock) -> dict[str, Any]:
    """The block as its start event shows it: still empty, but for data that never streams."""
    empty: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empty.get(key, value) for key, value in wire_block(block).items()}


def _block_end(event: BlockStop) -> tuple[dict[str, Any], ...]:
    stop: dict[str, Any] = {"type": "content_block_stop", "index": event.index}
    if isinstance(event.block, ServerBlock) and event.block.part == "call":
        searched = msgspec.json.encode(wire_block(event.block)["input"]).decode()
        return (_delta(event.index, {"type": "input_json_delta", "partial_json": searched}), stop)
    if isinstance(event.block, Thinking) and event.block.state is not None:
        return (_delta(event.index, {"type": "signature_delta", "signature": event.block.state.data}), stop)
    return (stop,)

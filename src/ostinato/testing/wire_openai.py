"""The Chat Completions wire from the server's side."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

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
from ostinato.messages import AssistantBlock, Text, Thinking, ToolUse, Usage
from ostinato.testing.script import Reply, arguments_text
from ostinato.testing.strict_openai import find_openai_problems
from ostinato.testing.wire import Answering, WireError, server_sent
from ostinato.testing.wire_rules import Problem, WireRules

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
ERROR_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
END_MARK = b"data: [DONE]\n\n"


class OpenAIWire:
    request_id_header = "x-request-id"

    def problems(self, body: dict[str, Any], rules: WireRules) -> tuple[Problem, ...]:
        return find_openai_problems(body, rules)

    def error_body(self, error: WireError) -> dict[str, Any]:
        kind = error.type or ("server_error" if error.status >= 500 else "invalid_request_error")
        code = error.code or ERROR_CODES.get(error.status)
        return {"error": {"message": error.message, "type": kind, "param": error.param, "code": code}}

    def error_event(self, error: WireError) -> bytes:
        return server_sent(self.error_body(error))

    def events(self, event: AnyModelEvent, answering: Answering) -> tuple[bytes, ...]:
        return tuple(server_sent(chunk) for chunk in _chunks(event, answering)) + (
            (END_MARK,) if isinstance(event, MessageStop) else ()
        )

    def whole(self, reply: Reply, answering: Answering) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": _joined_text(answering.blocks)}
        thinking = "".join(block.thinking for block in answering.blocks if isinstance(block, Thinking))
        if thinking:
            message["reasoning_content"] = thinking
        calls = [
            _call(block, arguments_text(block)) for block in answering.blocks if isinstance(block, ToolUse)
        ]
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(reply.reason)}
        return {**_head(answering, "chat.completion"), "choices": [choice], "usage": _usage(reply.usage)}

    def key_in(self, headers: Mapping[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ")

    def key_error(self, key: str) -> WireError:
        text = "Incorrect API key provided." if key else "You didn't provide an API key."
        return WireError(401, text)

    def model_error(self, model: str) -> WireError:
        return WireError(404, f"The model `{model}` does not exist or you do not have access to it.")


def _finish_reason(reason: str) -> str:
    return FINISH_REASONS.get(reason, reason)


def _joined_text(blocks: Sequence[AssistantBlock]) -> str | None:
    return "".join(block.text for block in blocks if isinstance(block, Text)) or None


def _call(block: ToolUse, arguments: str) -> dict[str, Any]:
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}


def _usage(usage: Usage) -> dict[str, Any]:
    """Cached tokens are part of the prompt here, where the canonical form counts them apart."""
    prompt = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_input_tokens},
    }


def _head(answering: Answering, kind: str) -> dict[str, Any]:
    return {"id": answering.response_id, "object": kind, "created": 0, "model": answering.model}


def _chunk(answering: Answering, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**_head(answering, "chat.completion.chunk"), "choices": [choice]}


def _chunks(event: AnyModelEvent, answering: Answering) -> tuple[dict[str, Any], ...]:
    match event:
        case MessageStart():
            return (_chunk(answering, {"role": "assistant", "content": ""}),)
        case BlockStart():
            return _call_head(event.index, answering)
        case TextDelta():
            return (_chunk(answering, {"content": event.text}),)
        case ThinkingDelta():
            return (_chunk(answering, {"reasoning_content": event.thinking}),)
        case InputJsonDelta():
            place = _call_place(event.index, answering)
            call = {"index": place, "function": {"arguments": event.partial_json}}
            return (_chunk(answering, {"tool_calls": [call]}),)
        case BlockStop():
            return ()
        case MessageStop():
            return _ending(event, answering)
        case _:
            assert_never(event)


def _call_head(index: int, answering: Answering) -> tuple[dict[str, Any], ...]:
    block = answering.blocks[index]
    if not isinstance(block, ToolUse):
        return ()
    call = {"index": _call_place(index, answering), **_call(block, "")}
    return (_chunk(answering, {"tool_calls": [call]}),)


def _call_place(index: int, answering: Answering) -> int:
    """Calls are numbered among themselves on this wire."""
    return sum(isinstance(block, ToolUse) for block in answering.blocks[:index])


def _ending(event: MessageStop, answering: Answering) -> tuple[dict[str, Any], ...]:
    last = _chunk(answering, {}, _finish_reason(event.stop_reason))
    if not answering.wants_usage:
        return (last,)
    usage: dict[str, Any] = {
        **_head(answering, "chat.completion.chunk"),
        "choices": [],
        "usage": _usage(event.usage),
    }
    return (last, usage)

"""The Responses wire from the server's side."""

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
from ostinato.testing.script import Reply, arguments_text
from ostinato.testing.strict_responses import find_responses_problems
from ostinato.testing.wire import Answering, WireError, server_sent
from ostinato.testing.wire_openai import OpenAIWire
from ostinato.testing.wire_rules import Problem, WireRules

INCOMPLETE_REASONS = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}
ERROR_CODES = {429: "rate_limit_exceeded", 529: "server_is_overloaded"}

Data = dict[str, Any]


class ResponsesWire(OpenAIWire):
    """Errors and keys are those of OpenAI's other wire."""

    def problems(self, body: Data, rules: WireRules) -> tuple[Problem, ...]:
        return find_responses_problems(body, rules)

    def error_event(self, error: WireError) -> bytes:
        code = error.code or ERROR_CODES.get(error.status, "server_error")
        data: Data = {
            "type": "error",
            "code": code,
            "message": error.message,
            "param": error.param,
            "sequence_number": 0,
        }
        return server_sent(data, "error")

    def events(self, event: AnyModelEvent, answering: Answering) -> tuple[bytes, ...]:
        return tuple(
            server_sent({**data, "sequence_number": next(answering.numbers)}, data["type"])
            for data in _stream_data(event, answering)
        )

    def whole(self, reply: Reply, answering: Answering) -> Data:
        return _ended(reply.reason, reply.usage, answering)

    def model_error(self, model: str) -> WireError:
        return WireError(
            400, f"The requested model '{model}' does not exist.", code="model_not_found", param="model"
        )


def _item(place: int, block: AssistantBlock, answering: Answering) -> Data:
    """A complete output item."""
    name = f"{answering.response_id}_{place}"
    match block:
        case Text():
            content: list[Data] = [
                {"type": "output_text", "text": block.text, "annotations": [], "logprobs": []}
            ]
            return {
                "type": "message",
                "id": f"msg_{name}",
                "status": "completed",
                "role": "assistant",
                "content": content,
            }
        case Thinking():
            summary = [{"type": "summary_text", "text": block.thinking}] if block.thinking else []
            sealed = block.state.data if block.state else ""
            return {"type": "reasoning", "id": f"rs_{name}", "summary": summary, "encrypted_content": sealed}
        case RedactedThinking():
            return {
                "type": "reasoning",
                "id": f"rs_{name}",
                "summary": [],
                "encrypted_content": block.state.data,
            }
        case ToolUse():
            return {
                "type": "function_call",
                "id": f"fc_{name}",
                "status": "completed",
                "call_id": block.id,
                "name": block.name,
                "arguments": arguments_text(block),
            }
        case ServerBlock():
            return msgspec.json.decode(block.state.data, type=Data)
        case _:
            assert_never(block)


def _opened(item: Data) -> Data:
    """The item as its start event shows it; what is sealed may be there already, in part."""
    empty: Data = {"content": [], "summary": [], "arguments": "", "status": "in_progress"}
    opened = {key: empty.get(key, value) for key, value in item.items()}
    return opened | ({"encrypted_content": "partial"} if "encrypted_content" in item else {})


def _response(answering: Answering, status: str, **fields: object) -> Data:
    return {
        "id": answering.response_id,
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": answering.model,
        "output": [],
        "parallel_tool_calls": True,
        "store": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
        **fields,
    }


def _ended(reason: str, usage: Usage, answering: Answering) -> Data:
    output = [_item(place, block, answering) for place, block in enumerate(answering.blocks)]
    incomplete = INCOMPLETE_REASONS.get(reason)
    return _response(
        answering,
        "incomplete" if incomplete else "completed",
        output=output,
        incomplete_details={"reason": incomplete} if incomplete else None,
        usage=_usage(usage),
    )


def _usage(usage: Usage) -> Data:
    """Cached tokens are part of the input here, where the canonical form counts them apart."""
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    total = usage.input_tokens + read + written
    return {
        "input_tokens": total,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": total + usage.output_tokens,
    }


def _stream_data(event: AnyModelEvent, answering: Answering) -> tuple[Data, ...]:
    match event:
        case MessageStart():
            begun = _response(answering, "in_progress")
            return (
                {"type": "response.created", "response": begun},
                {"type": "response.in_progress", "response": begun},
            )
        case BlockStart():
            return _item_start(event.index, answering)
        case TextDelta():
            return (
                _part("response.output_text.delta", event.index, answering, delta=event.text, logprobs=[]),
            )
        case ThinkingDelta():
            return (
                _part("response.reasoning_summary_text.delta", event.index, answering, delta=event.thinking),
            )
        case InputJsonDelta():
            return (
                _part(
                    "response.function_call_arguments.delta", event.index, answering, delta=event.partial_json
                ),
            )
        case BlockStop():
            return _item_end(event.index, answering)
        case MessageStop():
            response = _ended(event.stop_reason, event.usage, answering)
            return ({"type": f"response.{response['status']}", "response": response},)
        case _:
            assert_never(event)


def _part(kind: str, place: int, answering: Answering, **fields: object) -> Data:
    """An event about one part of an item; each item of ours has at most one."""
    item = _item(place, answering.blocks[place], answering)
    index: Mapping[str, object] = {
        "message": {"content_index": 0},
        "reasoning": {"summary_index": 0},
        "function_call": {},
    }[item["type"]]
    return {"type": kind, "item_id": item["id"], "output_index": place, **index, **fields}


def _item_start(place: int, answering: Answering) -> tuple[Data, ...]:
    item = _item(place, answering.blocks[place], answering)
    added: Data = {"type": "response.output_item.added", "output_index": place, "item": _opened(item)}
    if item["type"] == "message":
        part: Data = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        return (added, _part("response.content_part.added", place, answering, part=part))
    if item["type"] == "reasoning" and item["summary"]:
        part = {"type": "summary_text", "text": ""}
        return (added, _part("response.reasoning_summary_part.added", place, answering, part=part))
    return (added,)


def _item_end(place: int, answering: Answering) -> tuple[Data, ...]:
    item = _item(place, answering.blocks[place], answering)
    done: Data = {"type": "response.output_item.done", "output_index": place, "item": item}
    match item["type"]:
        case "message":
            part = item["content"][0]
            return (
                _part("response.output_text.done", place, answering, text=part["text"], logprobs=[]),
                _part("response.content_part.done", place, answering, part=part),
                done,
            )
        case "reasoning" if item["summary"]:
            part = item["summary"][0]
            return (
                _part("response.reasoning_summary_text.done", place, answering, text=part["text"]),
                _part("response.reasoning_summary_part.done", place, answering, part=part),
                done,
            )
        case "function_call":
            name, arguments = item["name"], item["arguments"]
            return (
                _part(
                    "response.function_call_arguments.done", place, answering, name=name, arguments=arguments
                ),
                done,
            )
        case _:
            return (done,)

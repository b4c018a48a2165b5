"""Blocks and usage in the words of the Messages API, which is what clients of this protocol read."""

from typing import assert_never

import msgspec

from ostinato.messages import (
    AssistantBlock,
    Document,
    Image,
    RedactedThinking,
    ServerBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
    UserBlock,
)
from ostinato.protocols.json_lines import JsonObject


def assistant_block(block: AssistantBlock) -> JsonObject:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(thinking, state):
            return {"type": "thinking", "thinking": thinking, "signature": state.data if state else ""}
        case RedactedThinking(state):
            return {"type": "redacted_thinking", "data": state.data}
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case ServerBlock():
            return _server_block(block)
        case _:
            assert_never(block)


def _server_block(block: ServerBlock) -> JsonObject:
    """As it came, if it came in these words; else the call alone, by what it was about."""
    if block.part == "whole":
        return {
            "type": "server_tool_use",
            "id": block.call_id,
            "name": "web_search",
            "input": {"query": block.text},
        }
    return msgspec.json.decode(block.state.data, type=JsonObject)


def user_block(block: UserBlock) -> JsonObject:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Image() | Document():
            kind = "image" if isinstance(block, Image) else "document"
            source = {"type": "base64", "media_type": block.media_type, "data": block.data}
            return {"type": kind, "source": source}
        case ToolResult(tool_use_id, content, is_error):
            told = content if isinstance(content, str) else [user_block(part) for part in content]
            result: JsonObject = {"type": "tool_result", "tool_use_id": tool_use_id, "content": told}
            return {**result, "is_error": True} if is_error else result
        case _:
            assert_never(block)


def result_text(result: ToolResult) -> str:
    """The text of a tool result; images and documents are left out."""
    if isinstance(result.content, str):
        return result.content
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def usage_object(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
    }

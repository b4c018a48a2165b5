"""What no provider accepts, checked on requests before any wire: rules V1 to V4, V6 and V7 in ostinato's own form."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ostinato.messages import (
    AssistantBlock,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserBlock,
)
from ostinato.ports import ModelFacts, ModelRequest, RequestMessage, ToolSchema

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def request_problems(request: ModelRequest, facts: ModelFacts) -> tuple[str, ...]:
    """Every break of the rules, each named by place; empty for a legal request."""
    return (
        *message_problems(request.messages),
        *tool_problems(request.tools),
        *state_problems(request.messages, facts),
        *_limit_problems(request, facts),
    )


def message_problems(messages: Sequence[RequestMessage]) -> tuple[str, ...]:
    """Roles, pairs, ids and empty content (V1 to V3)."""
    if not messages:
        return ("messages: at least one message is required",)
    found = [] if messages[0].role == "user" else ["messages.0: the first message must be the user's"]
    seen: set[str] = set()
    open_calls: tuple[str, ...] = ()
    for position, message in enumerate(messages):
        if position and messages[position - 1].role == message.role:
            found.append(f"messages.{position}: two {message.role} messages in a row")
        if not message.content:
            found.append(f"messages.{position}: no content")
        found += _result_problems(position, message.content, open_calls)
        calls = tuple(block.id for block in message.content if isinstance(block, ToolUse))
        found += _call_problems(position, calls, seen)
        found += _blank_problems(position, message.content)
        open_calls = calls
    if open_calls:
        found.append(f"messages.{len(messages) - 1}: calls without results: {', '.join(open_calls)}")
    return tuple(found)


def _result_problems(
    position: int, content: Sequence[UserBlock | AssistantBlock], open_calls: tuple[str, ...]
) -> list[str]:
    results = [block.tool_use_id for block in content if isinstance(block, ToolResult)]
    found = [
        f"messages.{position}: {what}: {', '.join(ids)}"
        for what, ids in (
            (
                "calls of the message before without results",
                [one for one in open_calls if one not in results],
            ),
            (
                "results without a call in the message before",
                [one for one in results if one not in open_calls],
            ),
            ("two results for one call", sorted({one for one in results if results.count(one) > 1})),
        )
        if ids
    ]
    leading = content[: len(results)]
    if not all(isinstance(block, ToolResult) for block in leading):
        found.append(f"messages.{position}: results must come first")
    return found


def _call_problems(position: int, calls: tuple[str, ...], seen: set[str]) -> list[str]:
    found: list[str] = []
    for one in calls:
        if not one:
            found.append(f"messages.{position}: a call with an empty id")
        elif one in seen:
            found.append(f"messages.{position}: the call id {one} is used twice")
        seen.add(one)
    return found


def _blank_problems(position: int, content: Sequence[UserBlock | AssistantBlock]) -> list[str]:
    found: list[str] = []
    for place, block in enumerate(content):
        where = f"messages.{position}.content.{place}"
        if isinstance(block, Text) and not block.text.strip():
            found.append(f"{where}: a blank text block")
        if isinstance(block, ToolResult) and _has_blank_text(block):
            found.append(f"{where}: a blank text in a result")
    return found


def _has_blank_text(result: ToolResult) -> bool:
    if isinstance(result.content, str):
        return False
    return any(isinstance(part, Text) and not part.text.strip() for part in result.content)


def tool_problems(tools: Sequence[ToolSchema]) -> tuple[str, ...]:
    """Names and schemas (V7)."""
    found: list[str] = []
    names = [tool.name for tool in tools]
    for place, tool in enumerate(tools):
        if not TOOL_NAME.fullmatch(tool.name):
            found.append(f"tools.{place}: the name {tool.name!r} is not {TOOL_NAME.pattern}")
        if names.index(tool.name) != place:
            found.append(f"tools.{place}: the name {tool.name!r} is used twice")
        if not is_object_schema(tool.input_schema):
            found.append(
                f"tools.{place}: the schema must be an object without anyOf, oneOf, allOf at its top"
            )
    return tuple(found)


def is_object_schema(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" and not {"anyOf", "oneOf", "allOf"} & schema.keys()


def state_problems(messages: Sequence[RequestMessage], facts: ModelFacts) -> tuple[str, ...]:
    """Opaque state that this model did not write (V4: whole and its own, or absent)."""
    found: list[str] = []
    for position, message in enumerate(messages):
        for place, block in enumerate(message.content):
            if not isinstance(block, Thinking | RedactedThinking):
                continue
            where = f"messages.{position}.content.{place}"
            if block.state is None:
                found.append(f"{where}: thinking without its signature")
            elif (block.state.provider, block.state.model) != (facts.provider, facts.id):
                found.append(f"{where}: thinking signed by {block.state.provider}/{block.state.model}")
    return tuple(found)


def _limit_problems(request: ModelRequest, facts: ModelFacts) -> tuple[str, ...]:
    if not 0 < request.max_output_tokens <= facts.max_output_tokens:
        return (f"max_output_tokens: {request.max_output_tokens} is not in 1..{facts.max_output_tokens}",)
    return ()

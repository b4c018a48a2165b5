"""The grammar that every request must keep, whoever built it: `problems()` names each break, in the message's own terms.

The rules are those that real providers enforce with a 400: pairs, order, ids, roles, no empty content.
"""

import re
from collections.abc import Iterable, Sequence

from ostinato.messages import (
    AssistantMessage,
    Document,
    Image,
    Message,
    RedactedThinking,
    ServerBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserMessage,
)
from ostinato.ports import RequestMessage, ToolSchema
from ostinato.tool import Tool

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def problems(messages: Sequence[RequestMessage], *, continues_reply: bool = False) -> tuple[str, ...]:
    """What is wrong with these messages as a request; empty if nothing is. Only a request that asks a paused reply to go on
    (`continues_reply`) may end with the assistant's message.
    """
    found: list[str] = []
    if not messages:
        return ("there is no message",)
    if messages[0].role != "user":
        found.append("messages.0: the first message must be the user's")
    if messages[-1].role != "user" and not continues_reply:
        found.append(f"messages.{len(messages) - 1}: the last message must be the user's")
    seen: set[str] = set()
    for index, message in enumerate(messages):
        if index and messages[index - 1].role == message.role:
            found.append(f"messages.{index}: two {message.role} messages in a row")
        found.extend(_content_problems(index, message))
        found.extend(_id_problems(index, message, seen))
        following = messages[index + 1] if index + 1 < len(messages) else None
        found.extend(_pair_problems(index, message, following))
    found.extend(_orphans(messages))
    return tuple(found)


def _content_problems(index: int, message: RequestMessage) -> Iterable[str]:
    if not message.content:
        yield f"messages.{index}: the content is empty"
    results_over = False
    for place, block in enumerate(message.content):
        where = f"messages.{index}.content.{place}"
        if isinstance(block, Text) and not block.text.strip():
            yield f"{where}: the text is blank"
        is_assistants = isinstance(block, ToolUse | Thinking | RedactedThinking | ServerBlock)
        is_users = isinstance(block, ToolResult | Image | Document)
        if (message.role == "user" and is_assistants) or (message.role == "assistant" and is_users):
            yield f"{where}: a {type(block).__name__} block cannot stand in a {message.role} message"
        if isinstance(block, ToolResult):
            if results_over:
                yield f"{where}: tool results must come first in their message"
            if block.is_error and isinstance(block.content, tuple):
                yield f"{where}: an error result may hold only text"
        else:
            results_over = True
    if message.role == "assistant" and message.content:
        last = message.content[-1]
        if isinstance(last, Thinking | RedactedThinking):
            yield f"messages.{index}: thinking may not be the last block"


def _id_problems(index: int, message: RequestMessage, seen: set[str]) -> Iterable[str]:
    for block in message.content:
        if isinstance(block, ToolUse):
            if not block.id:
                yield f"messages.{index}: a call has no id"
            elif block.id in seen:
                yield f"messages.{index}: the call id `{block.id}` is used twice"
            seen.add(block.id)


def _calls(message: RequestMessage | None) -> list[str]:
    return [block.id for block in message.content if isinstance(block, ToolUse)] if message else []


def _answers(message: RequestMessage | None) -> list[str]:
    return (
        [block.tool_use_id for block in message.content if isinstance(block, ToolResult)] if message else []
    )


def _pair_problems(index: int, message: RequestMessage, following: RequestMessage | None) -> Iterable[str]:
    calls = _calls(message)
    if not calls:
        return
    answers = _answers(following)
    for call in calls:
        if answers.count(call) != 1:
            yield f"messages.{index}: the call `{call}` has {answers.count(call)} results in the next message"
    if sorted(answers) == sorted(calls) and answers != calls:
        yield f"messages.{index + 1}: the results are not in the order of their calls"


def _orphans(messages: Sequence[RequestMessage]) -> Iterable[str]:
    for index, message in enumerate(messages):
        calls = _calls(messages[index - 1]) if index else []
        for answer in _answers(message):
            if answer not in calls:
                yield f"messages.{index}: the result `{answer}` has no call in the message before"


def tool_problems(tools: Sequence[Tool | ToolSchema]) -> tuple[str, ...]:
    """What is wrong with these tool definitions; empty if nothing is."""
    found: list[str] = []
    names = [tool.name for tool in tools]
    for tool in tools:
        if not TOOL_NAME.fullmatch(tool.name):
            found.append(f"tool `{tool.name}`: a name is 1 to 64 letters, digits, `_` or `-`")
        if names.count(tool.name) > 1:
            found.append(f"tool `{tool.name}`: the name is used twice")
        if tool.input_schema.get("type") != "object":
            found.append(f"tool `{tool.name}`: the schema must be of type object")
        bad = [key for key in ("anyOf", "oneOf", "allOf") if key in tool.input_schema]
        if bad:
            found.append(f"tool `{tool.name}`: the schema may not have `{bad[0]}` at its top")
    return tuple(found)


def missing_tool_results(messages: Iterable[Message], error: str) -> tuple[ToolResult, ...]:
    """One error result, with this text, for every call that has none; in the order of the calls."""
    calls: list[str] = []
    answered: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls.extend(call.id for call in message.tool_uses)
        elif isinstance(message, UserMessage):
            answered.update(block.tool_use_id for block in message.content if isinstance(block, ToolResult))
    return tuple(ToolResult(call, error, is_error=True) for call in calls if call not in answered)


def cut_points(view: Sequence[Message]) -> tuple[int, ...]:
    """Where the view may be cut without splitting a call from its result: indexes of the first message kept. A call that no result
    can come for any more, since the conversation went on without one, has nothing to be split from.
    """
    points: list[int] = []
    answers = _answer_places(view)
    newest, needed_until = _open_reply(view), -1
    for index, message in enumerate(view):
        if index > needed_until and not _answers_something(message):
            points.append(index)
        if isinstance(message, AssistantMessage):
            unanswered = len(view) if index == newest else index
            for call in message.tool_uses:
                places = answers.get(call.id, ())
                answered = next((place for place in places if place > index), unanswered)
                needed_until = max(needed_until, answered)
    return tuple(points)


def _answer_places(view: Sequence[Message]) -> dict[str, list[int]]:
    """By call id, where its results stand."""
    places: dict[str, list[int]] = {}
    for index, message in enumerate(view):
        if isinstance(message, UserMessage):
            for block in message.content:
                if isinstance(block, ToolResult):
                    places.setdefault(block.tool_use_id, []).append(index)
    return places


def _open_reply(view: Sequence[Message]) -> int | None:
    """The place of the reply whose calls may still be answered: the newest, as long as no prompt has followed it."""
    for index in range(len(view) - 1, -1, -1):
        message = view[index]
        if isinstance(message, AssistantMessage):
            return index
        if isinstance(message, UserMessage) and message.origin != "tool_result":
            return None
    return None


def _answers_something(message: Message) -> bool:
    return isinstance(message, UserMessage) and any(isinstance(b, ToolResult) for b in message.content)

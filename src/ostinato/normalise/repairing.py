"""What a provider still refuses after the usual normalising, taken out level by level: each keeps more of the conversation legal
and less of its form. Level 1: odd ids and names. Level 2: no thinking, nothing of what the provider did itself. Level 3: calls and results as plain text.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ostinato.codec import encode
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
    UserBlock,
)
from ostinato.ports import RequestMessage

MAX_REPAIR_LEVEL: Final = 3

_LEGAL_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_ILLEGAL_IN_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")

CALL: Final = "(called {name} with {input})"
RESULT: Final = "(result of {name}: {text})"
ERROR: Final = "(error of {name}: {text})"


def repaired_messages(messages: Sequence[RequestMessage], level: int) -> list[RequestMessage]:
    """The same conversation with everything up to `level` taken out; level 0 changes nothing. Roles alternate as before."""
    steps = (_with_legal_calls, _without_thinking, _with_calls_as_text)
    repaired = list(messages)
    for step in steps[:level]:
        repaired = step(repaired)
    return repaired


def _with_legal_calls(messages: list[RequestMessage]) -> list[RequestMessage]:
    """Ids and names that every provider takes. An id is numbered by its place, so it stays the same while more is added."""
    taken = {block.id for message in messages for block in message.content if isinstance(block, ToolUse)}
    ids: dict[str, str] = {}

    def legal(given: str) -> str:
        if given not in ids:
            ids[given] = given if _LEGAL_ID.fullmatch(given) else _free(len(ids), taken)
        return ids[given]

    def fixed(block: AssistantBlock | UserBlock) -> AssistantBlock | UserBlock:
        match block:
            case ToolUse():
                name = _ILLEGAL_IN_NAME.sub("_", block.name)[:64] or "tool"
                return replace(block, id=legal(block.id), name=name)
            case ToolResult():
                return replace(block, tool_use_id=legal(block.tool_use_id))
            case _:
                return block

    return [_with_content(message, [fixed(block) for block in message.content]) for message in messages]


def _free(number: int, taken: set[str]) -> str:
    while (made := f"call_{number}") in taken:
        number += 1
    taken.add(made)
    return made


def _without_thinking(messages: list[RequestMessage]) -> list[RequestMessage]:
    kept = [
        _with_content(
            m, [b for b in m.content if not isinstance(b, Thinking | RedactedThinking | ServerBlock)]
        )
        for m in messages
    ]
    return _joined([message for message in kept if message.content])


def _with_calls_as_text(messages: list[RequestMessage]) -> list[RequestMessage]:
    names = {b.id: b.name for message in messages for b in message.content if isinstance(b, ToolUse)}
    return [
        _with_content(message, [part for block in message.content for part in _told(block, names)])
        for message in messages
    ]


def _told(block: AssistantBlock | UserBlock, names: dict[str, str]) -> list[AssistantBlock | UserBlock]:
    match block:
        case ToolUse():
            return [Text(CALL.format(name=block.name, input=encode(block.input).decode()))]
        case ToolResult():
            form = ERROR if block.is_error else RESULT
            name = names.get(block.tool_use_id, "a tool")
            parts = (Text(block.content),) if isinstance(block.content, str) else block.content
            text = "\n".join(part.text for part in parts if isinstance(part, Text)) or "(no text)"
            media = [part for part in parts if isinstance(part, Image | Document)]
            return [Text(form.format(name=name, text=text)), *media]
        case _:
            return [block]


def _joined(messages: list[RequestMessage]) -> list[RequestMessage]:
    """Neighbours of one role become one message."""
    joined: list[RequestMessage] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and last.role == message.role:
            joined[-1] = _with_content(last, [*last.content, *message.content])
        else:
            joined.append(message)
    return joined


def _with_content(message: RequestMessage, blocks: Sequence[AssistantBlock | UserBlock]) -> RequestMessage:
    """The blocks are such as may stand in the message's role: they came from there, or are text."""
    if message.role == "assistant":
        return RequestMessage("assistant", tuple(b for b in blocks if isinstance(b, AssistantBlock)))
    return RequestMessage("user", tuple(b for b in blocks if isinstance(b, UserBlock)))

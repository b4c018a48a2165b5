"""What messages hold, told by a program: the user's words, the files that calls read and changed, the commands and how they ended."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ostinato.messages import (
    AssistantMessage,
    AttachmentMessage,
    Message,
    QueuedCommand,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
)

PATH_INPUTS: Final = ("file_path", "notebook_path", "path")
CHANGING_TOOLS: Final = frozenset({"Edit", "Write", "NotebookEdit", "MultiEdit"})
COMMAND_TOOLS: Final = frozenset({"Bash"})

MAX_COMMAND_CHARACTERS: Final = 200
LEFT_OUT: Final = "\n… {count} characters left out …\n"


class Deeds(msgspec.Struct):
    """What calls did, in order and each once."""

    read: dict[str, None] = msgspec.field(default_factory=dict[str, None])
    changed: dict[str, None] = msgspec.field(default_factory=dict[str, None])
    commands: list[str] = msgspec.field(default_factory=list[str])
    others: dict[str, int] = msgspec.field(default_factory=dict[str, int])


def cut(text: str, max_characters: int) -> str:
    """The text, or its beginning and end with a note of what is missing."""
    if len(text) <= max_characters:
        return text
    room = max(0, max_characters - len(LEFT_OUT) - 8)
    head, tail = room - room // 3, room // 3
    note = LEFT_OUT.format(count=len(text) - head - tail)
    return (text[:head] + note + text[len(text) - tail :])[:max_characters]


def users_words(message: Message) -> str:
    """What the user said in this message; empty if it holds no word of the user."""
    if isinstance(message, AttachmentMessage) and isinstance(message.attachment, QueuedCommand):
        return message.attachment.prompt
    if isinstance(message, UserMessage) and message.origin == "prompt" and not message.is_meta:
        return "\n".join(block.text for block in message.content if isinstance(block, Text))
    return ""


def deeds_of(messages: Sequence[Message]) -> Deeds:
    failed = {
        block.tool_use_id: block.is_error
        for message in messages
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult)
    }
    deeds = Deeds()
    for message in messages:
        for call in message.tool_uses if isinstance(message, AssistantMessage) else ():
            _note(call, deeds, is_error=failed.get(call.id, True))
    return deeds


def _note(call: ToolUse, deeds: Deeds, *, is_error: bool) -> None:
    path = _path(call.input)
    command = call.input.get("command")
    if call.name in COMMAND_TOOLS and isinstance(command, str):
        line = " ".join(command.split())[:MAX_COMMAND_CHARACTERS]
        deeds.commands.append(f"{line} ({'failed' if is_error else 'ok'})")
    elif path and not is_error:
        (deeds.changed if call.name in CHANGING_TOOLS else deeds.read)[path] = None
    else:
        deeds.others[call.name] = deeds.others.get(call.name, 0) + 1


def _path(given: Mapping[str, object]) -> str:
    found = next((given[name] for name in PATH_INPUTS if isinstance(given.get(name), str)), "")
    return str(found)[:500]

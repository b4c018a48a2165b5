"""Which files a conversation touched: the paths of calls that were answered without an error, and files the user named."""

from collections.abc import Container, Iterator, Sequence
from typing import Final

from ostinato.messages import (
    AssistantMessage,
    AttachmentMessage,
    Message,
    Reminder,
    ToolResult,
    ToolUse,
    UserMessage,
)

MENTION: Final = "mention"
"""Source of the reminders that hold a file the user named."""

PATH_FIELDS: Final = {
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
"""Tools that touch one file, and the field of their input that names it."""


SHOWING_TOOLS: Final = frozenset({"Read", "Write"})
"""Tools after which the view holds the file's content."""


def touched_paths(view: Sequence[Message], tools: Container[str] = PATH_FIELDS) -> list[str]:
    """As calls of these tools and mentions name them, each once; the mentions first."""
    answered: set[str] = set()
    mentioned: list[str] = []
    for message in view:
        if isinstance(message, UserMessage):
            answered.update(
                block.tool_use_id
                for block in message.content
                if isinstance(block, ToolResult) and not block.is_error
            )
        elif isinstance(message, AttachmentMessage) and isinstance(message.attachment, Reminder):
            mentioned += [message.attachment.key] if message.attachment.source == MENTION else []
    touched = [path for call, path in _calls(view, tools) if call in answered]
    return list(dict.fromkeys(path for path in (*mentioned, *touched) if path))


def last_round(view: Sequence[Message]) -> Sequence[Message]:
    """The latest reply, everything after it, and what was said to it since the reply before."""
    has_reply = is_before = False
    for place in range(len(view) - 1, -1, -1):
        if not isinstance(view[place], AssistantMessage):
            is_before = has_reply
        elif is_before:
            return view[place + 1 :]
        else:
            has_reply = True
    return view


def _calls(view: Sequence[Message], tools: Container[str]) -> Iterator[tuple[str, str]]:
    """Id and path of each call of a tool that touches one file."""
    for message in view:
        if isinstance(message, AssistantMessage):
            for block in message.content:
                path = _path(block) if isinstance(block, ToolUse) and block.name in tools else None
                if isinstance(block, ToolUse) and path:
                    yield block.id, path


def _path(call: ToolUse) -> str | None:
    path = call.input.get(PATH_FIELDS.get(call.name, ""))
    return path if isinstance(path, str) else None

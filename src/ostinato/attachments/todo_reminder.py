"""The list of what is to be done, for a model that does not see it any more or has not looked at it for long."""

from collections.abc import Sequence
from typing import Final

from ostinato.messages import AssistantMessage, AttachmentMessage, Message, Reminder, attachment_message
from ostinato.ports import Ids
from ostinato.todo_list import TOOL_NAME, Todo, TodoList

SOURCE: Final = "todos"
TURNS_BETWEEN: Final = 10
"""Replies since the list was written or told last (semantics §29)."""

MARKS: Final = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class TodoReminder:
    """A collector. It has nothing to say while nothing is open."""

    def __init__(self, todos: TodoList, ids: Ids) -> None:
        self._todos = todos
        self._ids = ids

    async def __call__(self, view: Sequence[Message]) -> Sequence[Message]:
        return self.at_once(view)

    def at_once(self, view: Sequence[Message]) -> Sequence[Message]:
        """One reminder, or nothing."""
        items = self._todos.items
        if not self._todos.open_items or _was_told_lately(view):
            return ()
        text = "\n".join([
            "The list of what is to be done stands as follows (TodoWrite changes it; there is no need to mention this):",
            *(_line(item) for item in items),
        ])
        return (attachment_message(self._ids.uuid(), Reminder(SOURCE, text)),)


def _line(item: Todo) -> str:
    from ostinato.attachments.quoted_text import quoted  # ruff: ignore[import-outside-top-level] - few lists are told of

    return f"{MARKS[item.status]} {quoted(' '.join(item.content.split()))}"


def _was_told_lately(view: Sequence[Message]) -> bool:
    """Whether the view holds the list, and not too far back."""
    replies: set[str] = set()
    for message in reversed(view):
        if isinstance(message, AssistantMessage):
            if any(call.name == TOOL_NAME for call in message.tool_uses):
                return True
            replies.add(message.response_id)
            if len(replies) >= TURNS_BETWEEN:
                return False
        elif isinstance(message, AttachmentMessage):
            attachment = message.attachment
            if isinstance(attachment, Reminder) and attachment.source == SOURCE:
                return True
    return False

"""Pieces of a conversation: calls with their results, and what an attachment says."""

from collections.abc import Sequence
from pathlib import Path

from ostinato.messages import (
    AssistantMessage,
    AttachmentMessage,
    Message,
    Reminder,
    SystemMessage,
    ToolResult,
    ToolUse,
    tool_result_message,
    user_prompt,
)
from ostinato.ports import SeenFile


def touch(path: object, *, tool: str = "Read", call: str = "t1", is_error: bool = False) -> list[Message]:
    """A prompt, a call that names the path, and its result."""
    use = ToolUse(call, tool, {"file_path": str(path)})
    return [
        user_prompt(f"p-{call}", "go"),
        AssistantMessage(f"a-{call}", f"r-{call}", "model", (use,), (f"a-{call}",)),
        tool_result_message(f"u-{call}", ToolResult(call, "…", is_error)),
    ]


def reminders(messages: Sequence[Message]) -> list[Reminder]:
    found: list[Reminder] = []
    for message in messages:
        assert isinstance(message, AttachmentMessage | SystemMessage)
        if isinstance(message, AttachmentMessage) and isinstance(message.attachment, Reminder):
            found.append(message.attachment)
    return found


def keys(messages: Sequence[Message]) -> list[str]:
    """The names of the files that the reminders are about."""
    return [Path(reminder.key).name for reminder in reminders(messages)]


def text(messages: Sequence[Message]) -> str:
    """What the only reminder says."""
    (reminder,) = reminders(messages)
    return reminder.text


class SeenLog:
    """The file state with entries, in memory."""

    def __init__(self) -> None:
        self.known: dict[Path, SeenFile] = {}

    def entries(self) -> list[tuple[Path, SeenFile]]:
        return list(self.known.items())

    def get(self, path: Path) -> SeenFile | None:
        return self.known.get(path)

    def put(self, path: Path, seen: SeenFile) -> None:
        self.known[path] = seen

    def forget(self, path: Path) -> None:
        self.known.pop(path, None)

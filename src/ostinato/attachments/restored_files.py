"""After a compaction: the files that the conversation worked on last, as they are now, as far as the model may still read them.

Nothing is restored that a rule forbids today, that lies in the part that stayed, or that is not text; what is too long is named.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

from anyio import to_thread

from ostinato.attachments.file_text import FileBytes, decoded, read_file_bytes
from ostinato.attachments.quoted_text import quoted, shown_name
from ostinato.attachments.told import path_key
from ostinato.call_ports import SeenFile
from ostinato.errors import UsageError
from ostinato.messages import (
    AssistantMessage,
    Message,
    Reminder,
    ToolResult,
    UserMessage,
    attachment_message,
)
from ostinato.normalise.token_estimate import text_tokens
from ostinato.ports import Ids, Workspace

SOURCE: Final = "restored_file"
MAX_FILES: Final = 5
MAX_FILE_TOKENS: Final = 5_000
MAX_TOTAL_TOKENS: Final = 20_000
"""Semantics §24.8 allows 5 files of 5,000 tokens; the sum is smaller here, for the part that stays holds the newest already."""

MAX_NAMED: Final = 10
MAX_BYTES: Final = 1 << 20
PATH_INPUTS: Final = ("file_path", "notebook_path")


class SeenRecently(Protocol):
    def entries(self) -> Iterable[tuple[Path, SeenFile]]:
        """The one seen last comes last."""
        ...


class RestoredFiles:
    def __init__(
        self, files: SeenRecently, workspace: Workspace, ids: Ids, may_read: Callable[[Path], bool]
    ) -> None:
        self._files = files
        self._workspace = workspace
        self._ids = ids
        self._may_read = may_read

    async def __call__(
        self, kept: Sequence[Message], max_tokens: int = MAX_TOTAL_TOKENS
    ) -> Sequence[Message]:
        """One reminder for each file, and one that names those that are too long."""
        return await to_thread.run_sync(self._restored, kept, min(max_tokens, MAX_TOTAL_TOKENS))

    def _restored(self, kept: Sequence[Message], room_tokens: int) -> list[Message]:
        visible = _shown_in(kept, self._workspace)
        found: list[Reminder] = []
        named: list[str] = []
        for path, seen in reversed(list(self._files.entries())):
            if len(found) == MAX_FILES or len(named) == MAX_NAMED:
                break
            if path in visible or not self._may_read(path):
                continue
            text = _text(path)
            if text is None:
                continue
            tokens = text_tokens(len(text.encode("utf-8", "replace")))
            if seen.is_partial or tokens > min(MAX_FILE_TOKENS, room_tokens):
                named.append(shown_name(path))
                continue
            room_tokens -= tokens
            found.append(_reminder(path, text))
        reminders = [*reversed(found), *([_names(named)] if named else [])]
        return [attachment_message(self._ids.uuid(), one) for one in reminders]


def _text(path: Path) -> str | None:
    read = read_file_bytes(path, max_bytes=MAX_BYTES)
    return decoded(read.data) if isinstance(read, FileBytes) else None


def _reminder(path: Path, text: str) -> Reminder:
    head = (
        f"The file {shown_name(path)} as it is now; you worked with it before the conversation was shortened:"
    )
    return Reminder(SOURCE, f"{head}\n{quoted(text)}", path_key(path))


def _names(paths: Sequence[str]) -> Reminder:
    listed = "\n".join(f"- {path}" for path in paths)
    text = f"You also worked with these files, which are too long to show again. Read the parts that you need:\n{listed}"
    return Reminder(SOURCE, text, hashlib.sha256(listed.encode("utf-8", "replace")).hexdigest()[:16])


def _shown_in(kept: Sequence[Message], workspace: Workspace) -> set[Path]:
    """Files whose reading, in the part that stays, went well."""
    answered = {
        block.tool_use_id
        for message in kept
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult) and not block.is_error
    }
    given = [
        call.input.get(name)
        for message in kept
        if isinstance(message, AssistantMessage)
        for call in message.tool_uses
        if call.id in answered
        for name in PATH_INPUTS
    ]
    return {
        path for text in given if isinstance(text, str) if (path := _resolved(text, workspace)) is not None
    }


def _resolved(text: str, workspace: Workspace) -> Path | None:
    try:
        return workspace.resolve(text)
    except UsageError:  # it cannot be a path
        return None

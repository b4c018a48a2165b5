"""Whole records too long for a line: one file each, named by the SHA-256 of its bytes, beside the session file.

The file is complete before the line that names it is written, so a line never points at half a record.
"""

import os
from pathlib import Path
from typing import Final

from ostinato.messages import (
    AssistantBlock,
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
    UserBlock,
    UserMessage,
)
from ostinato.records import Record

MAX_LINE_BYTES: Final = 65_536
"""A longer line is stored aside. Writes up to this size did not tear when the process was killed; 4 MB ones did, and
transcript readers look at the first and last 64 KiB of a file."""

_PREVIEW_CHARACTERS: Final = 2_000


def side_folder(session_file: Path) -> Path:
    """Where the side files of the session lie."""
    return session_file.with_suffix("") / "records"


def store(session_file: Path, data: bytes) -> tuple[str, Path]:
    """Keep the bytes; returns their SHA-256 and the file that holds them. Raises OSError."""
    import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

    digest = hashlib.sha256(data).hexdigest()
    folder = side_folder(session_file)
    target = folder / f"{digest}.json"
    if os.path.exists(target):
        return digest, target
    for parent in (folder.parent, folder):
        parent.mkdir(mode=0o700, exist_ok=True)
    unfinished = folder / f".{digest}.{os.getpid()}"
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    unfinished.rename(target)
    return digest, target


def load(session_file: Path, digest: str) -> bytes | None:
    """The bytes, or None if the file is missing or is not what it was."""
    import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

    if len(digest) != 64 or not digest.isalnum():
        return None
    try:
        data = (side_folder(session_file) / f"{digest}.json").read_bytes()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == digest else None


def preview(record: Record) -> Message | None:
    """What stands in the line for a long message, for readers that do not follow `stored`; None for other records."""
    match record:
        case UserMessage():
            heard = tuple(_heard(block) for block in record.content)
            return UserMessage(
                record.uuid, heard, record.is_meta, origin=record.origin, block_ids=record.block_ids
            )
        case AssistantMessage():
            said = tuple(_said(block) for block in record.content)
            return AssistantMessage(
                record.uuid,
                record.response_id,
                record.model,
                said,
                record.block_ids,
                is_incomplete=record.is_incomplete,
                is_error=record.is_error,
            )
        case _:
            return None


def _heard(block: UserBlock) -> UserBlock:
    match block:
        case Text():
            return Text(_shortened(block.text))
        case ToolResult():
            content = block.content
            text = content if isinstance(content, str) else "\n".join(_text_of(part) for part in content)
            return ToolResult(block.tool_use_id, _shortened(text), block.is_error)
        case Image() | Document():
            return Text(_text_of(block))


def _said(block: AssistantBlock) -> AssistantBlock:
    match block:
        case Text():
            return Text(_shortened(block.text))
        case Thinking():
            return Thinking(_shortened(block.thinking))
        case ToolUse():
            return ToolUse(block.id, block.name, {})
        case RedactedThinking():
            return Text("[redacted thinking]")
        case ServerBlock():
            return Text(_shortened(block.text))


def _text_of(part: Text | Image | Document) -> str:
    return part.text if isinstance(part, Text) else f"[{part.media_type}]"


def _shortened(text: str) -> str:
    if len(text) <= _PREVIEW_CHARACTERS:
        return text
    return f"{text[:_PREVIEW_CHARACTERS]}\n[{len(text)} characters in all]"

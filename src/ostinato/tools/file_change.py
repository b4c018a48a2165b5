"""The last step of every tool that changes files: put the new bytes in place, remember them as seen, and account for the difference."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyio import to_thread

from ostinato.errors import OstinatoError
from ostinato.ports import SeenFile
from ostinato.tool import ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_CHANGE_CHARACTERS, refusal, shown_path, success, valid_unicode
from ostinato.tools.file_diff import unified_diff


async def put_in_place(
    path: Path,
    data: bytes,
    context: ToolContext,
    *,
    expected: str,
    before: bytes | None = None,
    is_partial: bool = False,
) -> str | None:
    """Replace or create the file; returns why it was not done, and then nothing has changed.

    `expected` is the hash the file must still have, "" for a file that is not there; `before` the bytes that have it.
    `is_partial`: the model has not seen the rest of the file.
    """
    try:
        new_hash = await to_thread.run_sync(hash_of, data)
        await context.workspace.replace_file(path, data, expected=expected, before=before, data_hash=new_hash)
    except OstinatoError as error:
        return str(error)
    except OSError as error:
        return f"`{shown_path(path, context.workspace.cwd)}` cannot be written: {error.strerror or error}"
    context.files.put(path, SeenFile(new_hash, is_partial=is_partial))
    return None


def hash_of(data: bytes) -> str:
    """SHA-256, hexadecimal. For large files not on the thread that serves everybody."""
    return hashlib.sha256(data).hexdigest()


async def create_file(path: Path, data: bytes, normal: str, context: ToolContext) -> ToolOutcome:
    """A new file, never over one that somebody else made meanwhile. `normal` is its text with `\\n` line ends."""
    name = shown_path(path, context.workspace.cwd)
    failed = await put_in_place(path, data, context, expected="")
    if failed is not None:
        return refusal(failed)
    display = change_display(name, "", normal)
    return success(f"created {name}", max_characters=MAX_CHANGE_CHARACTERS, display=display)


def change_display(name: str, before: str, after: str, *, first_line: int = 1) -> Mapping[str, Any]:
    """What front ends show of a change: `path` and a unified `diff`. Texts have `\\n` line ends."""
    diff = unified_diff(before, after, name, first_line=first_line)
    return {"path": valid_unicode(name), "diff": valid_unicode(diff)}

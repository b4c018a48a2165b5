"""The last step of Edit and Write: put the new bytes in place, remember them as seen, and account for the difference."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ostinato.errors import OstinatoError
from ostinato.ports import SeenFile
from ostinato.tool import ToolContext
from ostinato.tools.answer import shown_path, valid_unicode
from ostinato.tools.file_diff import unified_diff


async def put_in_place(
    path: Path, data: bytes, context: ToolContext, *, expected: str | None = None, is_partial: bool = False
) -> str | None:
    """Replace or create the file; returns why it was not done, and then nothing has changed.

    `expected` is the hash the file must still have. `is_partial`: the model has not seen the rest of the file.
    """
    try:
        new_hash = await context.workspace.replace_file(path, data, expected=expected)
    except OstinatoError as error:
        return str(error)
    except OSError as error:
        return f"`{shown_path(path, context.workspace.cwd)}` cannot be written: {error.strerror or error}"
    context.files.put(path, SeenFile(new_hash, is_partial=is_partial))
    return None


def change_display(name: str, before: str, after: str) -> Mapping[str, Any]:
    """What front ends show of a change: `path` and a unified `diff`. Texts have `\\n` line ends."""
    return {"path": valid_unicode(name), "diff": valid_unicode(unified_diff(before, after, name))}

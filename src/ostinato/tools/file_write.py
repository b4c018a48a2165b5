"""Writing one file whole: what Write does when it is called; the tool itself says only what it takes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_never

import msgspec
from anyio import to_thread

from ostinato.tool import ToolContext, ToolOutcome
from ostinato.tools.answer import LONE_SURROGATE, MAX_CHANGE_CHARACTERS, refusal, shown_path, success
from ostinato.tools.existing_file import ExistingFile, NotChangeable, put_in_place_of, read_for_change
from ostinato.tools.file_change import change_display, create_file
from ostinato.tools.judged_path import judged_path
from ostinato.tools.line_ends import text_with_ends
from ostinato.tools.text_encoding import UTF_8


class _NewFile(msgspec.Struct, frozen=True):
    path: Path


async def write_file(file_path: str, content: str, context: ToolContext) -> ToolOutcome:
    """Create or replace it; a refused call leaves it as it is."""
    target = await _target(file_path, content, context)
    match target:
        case NotChangeable():
            return refusal(target.reason)
        case _NewFile():
            normal = text_with_ends(content).normal
            return await create_file(target.path, UTF_8.encode(content), normal, context)
        case ExistingFile():
            return await _replace(target, content, context)
        case _:
            assert_never(target)


async def write_refusal(file_path: str, content: str, context: ToolContext) -> str | None:
    """Why `write_file` would refuse now, if it would. Changes nothing."""
    target = await _target(file_path, content, context)
    return target.reason if isinstance(target, NotChangeable) else None


async def _target(
    file_path: str, content: str, context: ToolContext
) -> ExistingFile | _NewFile | NotChangeable:
    if LONE_SURROGATE.search(content):
        return NotChangeable("`content` holds half a code point (a lone surrogate), which no file can hold")
    path = judged_path(file_path, context, is_written=True)
    if not await to_thread.run_sync(path.exists, abandon_on_cancel=True):
        return _NewFile(path)
    file = await read_for_change(path, context, tool="Write")
    if isinstance(file, ExistingFile) and file.is_partial:
        name = shown_path(path, context.workspace.cwd)
        return NotChangeable(
            f"you have seen only part of `{name}`, and Write replaces all of it; "
            "Read it whole first, or use Edit"
        )
    return file


async def _replace(file: ExistingFile, content: str, context: ToolContext) -> ToolOutcome:
    name = shown_path(file.path, context.workspace.cwd)
    data, account, display = await to_thread.run_sync(_changed, file, content, name)
    wrong = await put_in_place_of(file, data, context)
    if wrong is not None:
        return refusal(wrong)
    return success(account, max_characters=MAX_CHANGE_CHARACTERS, display=display)


def _changed(file: ExistingFile, content: str, name: str) -> tuple[bytes, str, Mapping[str, Any]]:
    """The new bytes, what to say about them, and what to show."""
    text = file.text.replaced([(0, len(file.text.original))], content)
    account = f"wrote {name}"
    try:
        data = file.encoding.encode(text)
    except UnicodeEncodeError:
        # Every byte is new anyway, so no other text can be spoilt by the change of encoding.
        data = UTF_8.encode(text)
        account += f" as UTF-8 (it was {file.encoding.label}, which cannot hold this text)"
    return data, account, change_display(name, file.text.normal, file.text.normalise(content))

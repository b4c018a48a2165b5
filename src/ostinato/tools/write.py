"""Write: a whole file at once; a file that exists must have been seen, and keeps its encoding and line ends."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from anyio import to_thread

from ostinato.errors import OstinatoError
from ostinato.ports import SeenFile, Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import LONE_SURROGATE, refusal, shown_path, success, valid_unicode
from ostinato.tools.existing_file import ExistingFile, NotChangeable, read_for_change
from ostinato.tools.file_diff import unified_diff
from ostinato.tools.text_encoding import UTF_8

PROMPT: Final = """\
Write a whole file, with its parent folders. A file that exists must have been Read first. To change part of a file \
use Edit."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["file_path", "content"],
    "additionalProperties": False,
}

MAX_RESULT_CHARACTERS: Final = 10_000


class WriteInput(msgspec.Struct, frozen=True):
    file_path: str
    content: str


def write_tool() -> Tool:
    """The Write tool."""
    return Tool(
        name="Write",
        description=PROMPT,
        input_schema=SCHEMA,
        call=write,
        access=_writes_the_file,
        max_result_characters=MAX_RESULT_CHARACTERS,
        flat_parameters=("file_path", "content"),
    )


def _writes_the_file(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    return Access(writes=(workspace.resolve(str(tool_input["file_path"])),))


async def write(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Create or replace one file; a refused call leaves it as it is."""
    request = msgspec.convert(dict(tool_input), WriteInput)
    if LONE_SURROGATE.search(request.content):
        return refusal("`content` holds half a code point (a lone surrogate), which no file can hold")
    path = context.workspace.resolve(request.file_path)
    name = shown_path(path, context.workspace.cwd)
    if not await to_thread.run_sync(path.exists):
        return await _put(
            path,
            request.content.encode(),
            None,
            context,
            f"created {name}",
            _display(name, "", request.content),
        )
    file = await read_for_change(path, context, tool="Write")
    if isinstance(file, NotChangeable):
        return refusal(file.reason)
    if file.is_partial:
        return refusal(
            f"you have seen only part of `{name}`, and Write replaces all of it; "
            "Read it whole first, or use Edit"
        )
    return await _replace(file, request.content, name, context)


async def _replace(file: ExistingFile, content: str, name: str, context: ToolContext) -> ToolOutcome:
    text = file.text.replaced([(0, len(file.text.normal))], content)
    account = f"wrote {name}"
    try:
        data = file.encoding.encode(text)
    except UnicodeEncodeError:
        # Every byte is new anyway, so no other text can be spoilt by the change of encoding.
        data = UTF_8.encode(text)
        account += f" as UTF-8 (it was {file.encoding.label}, which cannot hold this text)"
    display = _display(name, file.text.normal, file.text.normalise(content))
    return await _put(file.path, data, file.content_hash, context, account, display)


async def _put(
    path: Path,
    data: bytes,
    expected: str | None,
    context: ToolContext,
    account: str,
    display: Mapping[str, Any],
) -> ToolOutcome:
    try:
        new_hash = await context.workspace.replace_file(path, data, expected=expected)
    except OstinatoError as error:
        return refusal(str(error))
    context.files.put(path, SeenFile(new_hash))
    return success(account, max_characters=MAX_RESULT_CHARACTERS, display=display)


def _display(name: str, before: str, after: str) -> Mapping[str, Any]:
    return {"path": valid_unicode(name), "diff": valid_unicode(unified_diff(before, after, name))}

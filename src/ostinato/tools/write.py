"""Write: a whole file at once; a file that exists must have been seen, and keeps its encoding and line ends."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from anyio import to_thread

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import LONE_SURROGATE, refusal, shown_path, success
from ostinato.tools.existing_file import ExistingFile, NotChangeable, read_for_change
from ostinato.tools.file_change import MAX_RESULT_CHARACTERS, change_display, create_file, put_in_place
from ostinato.tools.line_ends import text_with_ends
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
    if not await to_thread.run_sync(path.exists):
        normal = text_with_ends(request.content).normal
        return await create_file(path, UTF_8.encode(request.content), normal, context)
    file = await read_for_change(path, context, tool="Write")
    if isinstance(file, NotChangeable):
        return refusal(file.reason)
    if file.is_partial:
        name = shown_path(path, context.workspace.cwd)
        return refusal(
            f"you have seen only part of `{name}`, and Write replaces all of it; "
            "Read it whole first, or use Edit"
        )
    return await _replace(file, request.content, context)


async def _replace(file: ExistingFile, content: str, context: ToolContext) -> ToolOutcome:
    name = shown_path(file.path, context.workspace.cwd)
    data, account, display = await to_thread.run_sync(_changed, file, content, name)
    wrong = await put_in_place(file.path, data, context, expected=file.content_hash)
    if wrong is not None:
        return refusal(wrong)
    return success(account, max_characters=MAX_RESULT_CHARACTERS, display=display)


def _changed(file: ExistingFile, content: str, name: str) -> tuple[bytes, str, Mapping[str, Any]]:
    """The new bytes, what to say about them, and what to show."""
    text = file.text.replaced([(0, len(file.text.normal))], content)
    account = f"wrote {name}"
    try:
        data = file.encoding.encode(text)
    except UnicodeEncodeError:
        # Every byte is new anyway, so no other text can be spoilt by the change of encoding.
        data = UTF_8.encode(text)
        account += f" as UTF-8 (it was {file.encoding.label}, which cannot hold this text)"
    return data, account, change_display(name, file.text.normal, file.text.normalise(content))

"""Write: a whole file at once; a file that exists must have been seen, and keeps its encoding and line ends."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_CHANGE_CHARACTERS

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
        cannot_succeed=why_not_write,
        access=_writes_the_file,
        max_result_characters=MAX_CHANGE_CHARACTERS,
        flat_parameters=("file_path", "content"),
    )


def _writes_the_file(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    return Access(writes=(workspace.resolve(str(tool_input["file_path"])),))


async def write(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Create or replace one file; a refused call leaves it as it is."""
    request = msgspec.convert(dict(tool_input), WriteInput)
    from ostinato.tools.file_write import write_file  # ruff: ignore[import-outside-top-level] - loads with a first change

    return await write_file(request.file_path, request.content, context)


async def why_not_write(tool_input: Mapping[str, Any], context: ToolContext) -> str | None:
    """In the words of the call: there is a file that was not read, not whole, or has changed since …"""
    request = msgspec.convert(dict(tool_input), WriteInput)
    from ostinato.tools.file_write import write_refusal  # ruff: ignore[import-outside-top-level] - loads with a first change

    return await write_refusal(request.file_path, request.content, context)

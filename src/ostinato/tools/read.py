"""Read: a range of a text file with line numbers, an image, pages of a PDF, cells of a notebook."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_READ_CHARACTERS

PROMPT: Final = """\
Read a file: text with line numbers (number, tab, line), an image (png, jpeg, gif, webp), a PDF or a notebook. Shows up to \
2000 lines from line offset on and says how to go on. For a folder use Glob or ls."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string", "description": "Absolute, or relative to the working folder"},
        "offset": {"type": "integer", "description": "First line (cell of a notebook), from 1"},
        "limit": {"type": "integer"},
        "pages": {"type": "string", "description": "Of a PDF, up to 20: 3, 1-5"},
    },
    "required": ["file_path"],
    "additionalProperties": False,
}

DEFAULT_LINES: Final = 2000


class ReadInput(msgspec.Struct, frozen=True):
    file_path: str
    offset: int = 1
    limit: int = DEFAULT_LINES
    pages: str = ""


def read_tool() -> Tool:
    """The Read tool."""
    return Tool(
        name="Read",
        description=PROMPT,
        input_schema=SCHEMA,
        call=read,
        access=_reads_the_file,
        is_read_only=lambda _input: True,
        interrupt_behaviour="cancel",
        max_result_characters=MAX_READ_CHARACTERS,
        flat_parameters=("file_path",),
    )


def _reads_the_file(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    return Access(reads=(workspace.resolve(str(tool_input["file_path"])),))


async def read(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Show a file and remember that it was seen."""
    from ostinato.tools.file_read import Wanted, read_file  # ruff: ignore[import-outside-top-level] - loads with a first read

    request = msgspec.convert(dict(tool_input), ReadInput)
    wanted = Wanted(request.offset, request.limit, request.pages)
    return await read_file(request.file_path, wanted, context)

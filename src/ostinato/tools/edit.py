"""Edit: one literal text for another in a file the model has seen; every byte outside the change stays as it is."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_CHANGE_CHARACTERS

PROMPT: Final = """\
Replace exact text in a file. Read the file first in this conversation. old_string must match the file exactly (without \
the line numbers that Read shows) and be unique: include neighbouring lines if needed, or set replace_all. \
Line ends and encoding are kept. An empty old_string creates a new file."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string"},
        "old_string": {"type": "string"},
        "new_string": {"type": "string"},
        "replace_all": {"type": "boolean"},
    },
    "required": ["file_path", "old_string", "new_string"],
    "additionalProperties": False,
}


class EditInput(msgspec.Struct, frozen=True):
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


def edit_tool() -> Tool:
    """The Edit tool."""
    return Tool(
        name="Edit",
        description=PROMPT,
        input_schema=SCHEMA,
        call=edit,
        cannot_succeed=why_not_edit,
        access=_writes_the_file,
        max_result_characters=MAX_CHANGE_CHARACTERS,
        flat_parameters=("file_path", "old_string", "new_string"),
    )


def _writes_the_file(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    return Access(writes=(workspace.resolve(str(tool_input["file_path"])),))


async def edit(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Apply one edit; a refused one leaves the file as it is."""
    from ostinato.tools.edit_steps import EditStep  # ruff: ignore[import-outside-top-level] - loads with a first change
    from ostinato.tools.file_edit import edit_file  # ruff: ignore[import-outside-top-level] - as above

    request = msgspec.convert(dict(tool_input), EditInput)
    step = EditStep(request.old_string, request.new_string, request.replace_all)
    return await edit_file(request.file_path, (step,), context, tool="Edit")


async def why_not_edit(tool_input: Mapping[str, Any], context: ToolContext) -> str | None:
    """In the words of the call: the file was not read or has changed since, the text is not there or not unique …"""
    from ostinato.tools.edit_steps import EditStep  # ruff: ignore[import-outside-top-level] - loads with a first change
    from ostinato.tools.file_edit import edit_refusal  # ruff: ignore[import-outside-top-level] - as above

    request = msgspec.convert(dict(tool_input), EditInput)
    step = EditStep(request.old_string, request.new_string, request.replace_all)
    return await edit_refusal(request.file_path, (step,), context, tool="Edit")

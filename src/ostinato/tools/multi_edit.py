"""MultiEdit: several literal edits of one file in order, each in what the one before it left; all of them or none."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_CHANGE_CHARACTERS

PROMPT: Final = (
    "Several Edits of one file in order, each on the result of the one before; all are applied or none."
)

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string"},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "old_string": {"type": "string"},
                    "new_string": {"type": "string"},
                    "replace_all": {"type": "boolean"},
                },
                "required": ["old_string", "new_string"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["file_path", "edits"],
    "additionalProperties": False,
}


class MultiEditInput(msgspec.Struct, frozen=True):
    file_path: str
    edits: tuple[Mapping[str, Any], ...]


def multi_edit_tool() -> Tool:
    """The MultiEdit tool."""
    return Tool(
        name="MultiEdit",
        description=PROMPT,
        input_schema=SCHEMA,
        call=multi_edit,
        cannot_succeed=why_not_multi_edit,
        validate=_no_edits,
        access=_writes_the_file,
        max_result_characters=MAX_CHANGE_CHARACTERS,
    )


def _no_edits(tool_input: Mapping[str, Any]) -> str | None:
    return None if tool_input["edits"] else "`edits` is empty"


def _writes_the_file(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    return Access(writes=(workspace.resolve(str(tool_input["file_path"])),))


async def multi_edit(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Apply all edits; a refused call leaves the file as it is."""
    from ostinato.tools.edit_steps import EditStep  # ruff: ignore[import-outside-top-level] - loads with a first change
    from ostinato.tools.file_edit import edit_file  # ruff: ignore[import-outside-top-level] - as above

    request = msgspec.convert(dict(tool_input), MultiEditInput)
    steps = msgspec.convert(request.edits, tuple[EditStep, ...])
    return await edit_file(request.file_path, steps, context, tool="MultiEdit")


async def why_not_multi_edit(tool_input: Mapping[str, Any], context: ToolContext) -> str | None:
    """In the words of the call: the file was not read or has changed since, an edit does not apply …"""
    from ostinato.tools.edit_steps import EditStep  # ruff: ignore[import-outside-top-level] - loads with a first change
    from ostinato.tools.file_edit import edit_refusal  # ruff: ignore[import-outside-top-level] - as above

    request = msgspec.convert(dict(tool_input), MultiEditInput)
    steps = msgspec.convert(request.edits, tuple[EditStep, ...])
    return await edit_refusal(request.file_path, steps, context, tool="MultiEdit")

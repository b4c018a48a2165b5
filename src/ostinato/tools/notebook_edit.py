"""NotebookEdit: one cell of a notebook replaced, inserted or deleted; every byte of the other cells stays."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_CHANGE_CHARACTERS

PROMPT: Final = """\
Change one cell of a notebook (.ipynb) that you have Read. insert puts a new cell behind cell_id, or first without one."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "notebook_path": {"type": "string"},
        "cell_id": {"type": "string"},
        "new_source": {"type": "string"},
        "cell_type": {"type": "string", "enum": ["code", "markdown"]},
        "edit_mode": {"type": "string", "enum": ["replace", "insert", "delete"]},
    },
    "required": ["notebook_path"],
    "additionalProperties": False,
}


def notebook_edit_tool() -> Tool:
    """The NotebookEdit tool."""
    return Tool(
        name="NotebookEdit",
        description=PROMPT,
        input_schema=SCHEMA,
        call=notebook_edit,
        cannot_succeed=why_not_notebook_edit,
        validate=_what_is_missing,
        access=_writes_the_file,
        max_result_characters=MAX_CHANGE_CHARACTERS,
    )


def _what_is_missing(tool_input: Mapping[str, Any]) -> str | None:
    mode = tool_input.get("edit_mode", "replace")
    if mode != "insert" and not tool_input.get("cell_id"):
        return f"`cell_id` is needed for {mode}"
    if mode != "delete" and tool_input.get("new_source") is None:
        return f"`new_source` is needed for {mode}"
    if mode == "insert" and not tool_input.get("cell_type"):
        return "`cell_type` is needed for insert"
    return None


def _writes_the_file(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    return Access(writes=(workspace.resolve(str(tool_input["notebook_path"])),))


async def notebook_edit(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Change one cell; a refused call leaves the file as it is."""
    from ostinato.tools.notebook_change import NotebookEditInput  # ruff: ignore[import-outside-top-level] - loads with a first change
    from ostinato.tools.notebook_file import change_notebook  # ruff: ignore[import-outside-top-level] - as above

    return await change_notebook(msgspec.convert(dict(tool_input), NotebookEditInput), context)


async def why_not_notebook_edit(tool_input: Mapping[str, Any], context: ToolContext) -> str | None:
    """In the words of the call: the notebook was not read or has changed since, it has no such cell …"""
    from ostinato.tools.notebook_change import NotebookEditInput  # ruff: ignore[import-outside-top-level] - loads with a first change
    from ostinato.tools.notebook_file import notebook_refusal  # ruff: ignore[import-outside-top-level] - as above

    return await notebook_refusal(msgspec.convert(dict(tool_input), NotebookEditInput), context)

"""Glob: files by name pattern, newest first."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome

PROMPT: Final = """\
Find files by pattern, newest first: `**/*.py`, `src/**/test_*.{ts,tsx}`. A pattern without a slash matches in every \
folder. Ignored files (.gitignore) are left out unless path names their folder."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string"},
        "path": {"type": "string", "description": "Folder"},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}

MAX_RESULT_CHARACTERS: Final = 30_000


class GlobInput(msgspec.Struct, frozen=True):
    pattern: str
    path: str | None = None


def glob_tool() -> Tool:
    """The Glob tool."""
    return Tool(
        name="Glob",
        description=PROMPT,
        input_schema=SCHEMA,
        call=find_files,
        access=_reads_the_folder,
        is_read_only=lambda _input: True,
        interrupt_behaviour="cancel",
        max_result_characters=MAX_RESULT_CHARACTERS,
        flat_parameters=("pattern",),
    )


def _reads_the_folder(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    from ostinato.tools.search_scope import searched_path  # ruff: ignore[import-outside-top-level] - loads with a first call

    request = msgspec.convert(dict(tool_input), GlobInput)
    return Access(reads=(searched_path(workspace, request.path, request.pattern),))


async def find_files(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """List the files that fit."""
    from ostinato.tools.glob_steps import find  # ruff: ignore[import-outside-top-level] - loads with a first call

    request = msgspec.convert(dict(tool_input), GlobInput)
    return await find(request.pattern, request.path, context, max_characters=MAX_RESULT_CHARACTERS)

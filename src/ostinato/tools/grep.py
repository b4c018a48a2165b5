"""Grep: regular-expression search in files; the files newest first, or lines grouped by file, or counts."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.grep_input import MAX_RESULT_CHARACTERS, GrepInput

PROMPT: Final = """\
Search file contents (ripgrep: Rust regular expressions, `interface\\{\\}`) rather than with grep in Bash. Ignored files are \
left out unless path names their folder."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Regular expression"},
        "path": {"type": "string", "description": "File or folder"},
        "glob": {"type": "string", "description": "Only these files: `*.ts`, `src/**`, `!*.md`"},
        "output_mode": {
            "type": "string",
            "enum": ["content", "files_with_matches", "count"],
            "description": "Default files_with_matches",
        },
        "-A": {"type": "integer"},
        "-B": {"type": "integer"},
        "-C": {"type": "integer"},
        "context": {"type": "integer", "description": "Same as -C"},
        "-n": {"type": "boolean", "description": "Line numbers (default true)"},
        "-i": {"type": "boolean"},
        "-o": {"type": "boolean"},
        "type": {"type": "string", "description": "py, js, rust"},
        "head_limit": {
            "type": "integer",
            "description": "Default 250, 0 = all",
        },
        "offset": {"type": "integer", "description": "Skip so many first"},
        "multiline": {"type": "boolean"},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


def grep_tool() -> Tool:
    """The Grep tool."""
    return Tool(
        name="Grep",
        description=PROMPT,
        input_schema=SCHEMA,
        call=search,
        access=_reads_the_folder,
        is_read_only=lambda _input: True,
        interrupt_behaviour="cancel",
        max_result_characters=MAX_RESULT_CHARACTERS,
        flat_parameters=("pattern", "path"),
    )


def _reads_the_folder(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    from ostinato.tools.search_scope import searched_path  # ruff: ignore[import-outside-top-level] - loads with a first call

    request = msgspec.convert(dict(tool_input), GrepInput)
    return Access(reads=(searched_path(workspace, request.path, request.glob),))


async def search(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Search and show one page of what was found."""
    from ostinato.tools.grep_steps import search_files  # ruff: ignore[import-outside-top-level] - loads with a first call

    return await search_files(msgspec.convert(dict(tool_input), GrepInput), context)

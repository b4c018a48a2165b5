"""Glob: files by name pattern, newest first."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec
from anyio import to_thread

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import refusal, success
from ostinato.tools.ripgrep import SearchFailed
from ostinato.tools.search_scope import NoScope, newest_first, search_in, search_scope, searched_path

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

MAX_FILES: Final = 100
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
    request = msgspec.convert(dict(tool_input), GlobInput)
    return Access(reads=(searched_path(workspace, request.path, request.pattern),))


async def find_files(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """List the files that fit."""
    request = msgspec.convert(dict(tool_input), GlobInput)
    workspace = context.workspace
    scope = await to_thread.run_sync(search_scope, workspace, request.path, request.pattern)
    if isinstance(scope, NoScope):
        return refusal(scope.reason)
    if scope.is_file:
        return refusal(f"`{request.path}` is a file; give the folder to search")
    found = await search_in(scope, ("--files", *scope.type_arguments(), "--", scope.argument), context)
    if isinstance(found, SearchFailed):
        return refusal(found.reason)
    # The last piece is empty, or cut off where the output was.
    printed = [path for path in found.output.split("\0")[:-1] if scope.takes(path)]
    newest = await to_thread.run_sync(partial(newest_first, printed, workspace.cwd, most=MAX_FILES))
    further = len(printed) - len(newest)
    text = _answer(newest, further, found.caveats)
    is_incomplete = further > 0 or bool(found.caveats)
    return success(text, max_characters=MAX_RESULT_CHARACTERS, is_incomplete=is_incomplete)


def _answer(files: list[str], further: int, caveats: tuple[str, ...]) -> str:
    lines = [path.removeprefix("./") for path in files]
    if not files:
        lines.append("no file found before that" if caveats else "no file matches")
    if further:
        lines.append(f"[{further} more files; use a narrower pattern or path]")
    return "\n".join((*lines, *(f"[incomplete: {caveat}]" for caveat in caveats)))

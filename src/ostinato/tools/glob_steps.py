"""What Glob does when it is called: list the files that fit, newest first."""

from functools import partial
from typing import Final

from anyio import to_thread

from ostinato.tool import ToolContext, ToolOutcome
from ostinato.tools.answer import refusal, success
from ostinato.tools.ripgrep import SearchFailed
from ostinato.tools.search_scope import NoScope, newest_first, search_in, search_scope

MAX_FILES: Final = 100


async def find(pattern: str, path: str | None, context: ToolContext, *, max_characters: int) -> ToolOutcome:
    """The whole call, after its input was read."""
    workspace = context.workspace
    scope = await to_thread.run_sync(search_scope, workspace, path, pattern, context.access)
    if isinstance(scope, NoScope):
        return refusal(scope.reason)
    if scope.is_file:
        return refusal(f"`{path}` is a file; give the folder to search")
    found = await search_in(scope, ("--files", *scope.type_arguments(), "--", scope.argument), context)
    if isinstance(found, SearchFailed):
        return refusal(found.reason)
    # The last piece is empty, or cut off where the output was.
    printed = [file for file in found.output.split("\0")[:-1] if scope.takes(file)]
    newest = await to_thread.run_sync(partial(newest_first, printed, workspace.cwd, most=MAX_FILES))
    further = len(printed) - len(newest)
    text = _answer(newest, further, found.caveats)
    is_incomplete = further > 0 or bool(found.caveats)
    return success(text, max_characters=max_characters, is_incomplete=is_incomplete)


def _answer(files: list[str], further: int, caveats: tuple[str, ...]) -> str:
    lines = [path.removeprefix("./") for path in files]
    if not files:
        lines.append("no file found before that" if caveats else "no file matches")
    if further:
        lines.append(f"[{further} more files; use a narrower pattern or path]")
    return "\n".join((*lines, *(f"[incomplete: {caveat}]" for caveat in caveats)))

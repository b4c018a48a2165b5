"""Where a search looks: a folder or file, and a pattern for the files in it; shared by Glob and Grep."""

import heapq
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from anyio import to_thread

from ostinato.ports import Workspace
from ostinato.tool import Access, ToolContext
from ostinato.tools.answer import valid_unicode
from ostinato.tools.file_kinds import is_kernel_view
from ostinato.tools.file_pattern import FilePattern, parse_pattern
from ostinato.tools.ripgrep import Found, SearchFailed, run_ripgrep


class SearchScope(msgspec.Struct, frozen=True):
    """`argument` is the path as ripgrep gets it; its answers begin with `prefix`. `pattern` None means all files."""

    path: Path
    argument: str
    prefix: str
    pattern: FilePattern | None
    is_file: bool = False

    def takes(self, printed_path: str) -> bool:
        """Whether a path that ripgrep printed fits the pattern."""
        return self.pattern is None or self.pattern.matches(printed_path, start=len(self.prefix))

    def type_arguments(self) -> tuple[str, ...]:
        """Restrict ripgrep to names that can fit, without overruling ignore files."""
        if self.pattern is None or not self.pattern.name_globs:
            return ()
        return (*(f"--type-add=wanted:{glob}" for glob in self.pattern.name_globs), "--type=wanted")


class NoScope(msgspec.Struct, frozen=True):
    """Why there is nowhere to search."""

    reason: str


def search_scope(
    workspace: Workspace, path: str | None, glob: str | None, access: Access
) -> SearchScope | NoScope:
    """Of a place that `access` does not cover nothing is told. Raises UsageError for what cannot be a path. Touches the file system: to be called in a thread."""
    try:
        pattern = parse_pattern(valid_unicode(glob)) if glob else None
    except ValueError as error:
        return NoScope(f"bad glob pattern: {error}")
    base, searched = workspace.resolve(path or "."), searched_path(workspace, path, glob)
    if not access.covers(searched, is_written=False):
        return NoScope(_moved(path or "."))
    if is_kernel_view(searched):
        return NoScope(f"`{path or glob}` is a view of the running system, not files on disk; use a command")
    if os.path.isfile(base):
        return SearchScope(base, _argument(base, workspace.cwd), "", None, is_file=True)
    if not os.path.isdir(base):
        return NoScope(f"`{path}` {_why_not(base)}")
    if pattern is not None and pattern.folder:
        base = _folder_in(workspace, base, pattern.folder)
        if not os.path.isdir(base):
            return NoScope(f"`{pattern.folder}` is not a folder, so nothing matches `{glob}`")
    argument = os.path.join(_argument(base, workspace.cwd), "")
    return SearchScope(base, argument, argument, pattern)


async def search_in(
    scope: SearchScope, arguments: Sequence[str], context: ToolContext
) -> Found | SearchFailed:
    """Run ripgrep there; what it found counts only if the path led, before and after, to where it did when it was judged."""
    moved = await to_thread.run_sync(_leads_elsewhere, scope, context)
    if moved is not None:
        return moved
    found = await run_ripgrep(arguments, context.workspace)
    return await to_thread.run_sync(_leads_elsewhere, scope, context) or found


def _leads_elsewhere(scope: SearchScope, context: ToolContext) -> SearchFailed | None:
    if context.access.covers(scope.path, is_written=False) and os.path.realpath(scope.path) == str(
        scope.path
    ):
        return None
    return SearchFailed(_moved(str(scope.path)))


def _moved(path: str) -> str:
    return f"`{path}` does not lead where it led when the call was judged; make the call again"


def searched_path(workspace: Workspace, path: str | None, glob: str | None) -> Path:
    """What a search may read, before anything is opened."""
    base = workspace.resolve(path or ".")
    if os.path.isfile(base):
        return base
    try:
        folder = parse_pattern(glob).folder if glob else ""
    except ValueError:
        folder = ""
    return _folder_in(workspace, base, folder)


def _folder_in(workspace: Workspace, base: Path, folder: str) -> Path:
    """A pattern may begin at the root or at home, like any path."""
    return workspace.resolve(folder if folder.partition("/")[0] == "~" else str(base / folder))


def _why_not(path: Path) -> str:
    """What is wrong with a path that is no file and no folder."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except OSError as error:
        return f"cannot be looked at: {error.strerror}"
    return "is neither a file nor a folder"


def _argument(path: Path, cwd: Path) -> str:
    """Relative inside the working folder; the leading `./` keeps a name from being taken for an option."""
    if path == cwd:
        return "."
    return f"./{path.relative_to(cwd)}" if path.is_relative_to(cwd) else str(path)


def newest_first(printed_paths: list[str], cwd: Path, *, most: int | None = None) -> list[str]:
    """All or the first `most`, sorted by time of change, ties by name; a file that is gone by now comes last.

    To be called in a thread. Looking up the times is nearly all that it costs; choosing a few is a tenth of sorting all.
    """
    ages: list[int] = []
    # Two hundred thousand of them are usual in a large repository: no path object, and no walk from the root for each.
    folder = os.open(cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for path in printed_paths:
            try:
                ages.append(-os.stat(path, dir_fd=folder).st_mtime_ns)
            except (OSError, ValueError):
                ages.append(0)
    finally:
        os.close(folder)
    dated = zip(ages, printed_paths, strict=True)
    return [path for _, path in (sorted(dated) if most is None else heapq.nsmallest(most, dated))]

"""File tools and paths that the file system refuses: an answer for the model, or an error that says what is wrong with the path."""

from pathlib import Path
from typing import Any

import pytest
from tests.permissions.test_paths_that_nobody_can_look_at import NASTY, folder, nobody

from ostinato.errors import UsageError
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.testing import tool_context
from ostinato.tool import NO_ACCESS
from ostinato.tools.builtin import builtin_tools
from ostinato.tools.file_kinds import not_a_file
from ostinato.tools.search_scope import NoScope, SearchScope, search_scope

__all__ = ("folder",)

CALLS: dict[str, dict[str, Any]] = {
    "Read": {},
    "Edit": {"old_string": "not there", "new_string": "y"},
    "Grep": {"pattern": "x"},
    "Glob": {"pattern": "**/x"},
}
WIDE = frozenset({"/", "//", "..", "~root"})
"""Searching through them takes long and shows nothing."""

PATHS = (*NASTY, "/proc/1/cwd", "/proc/1/cwd/x")


def workspace_of(folder: Path) -> LocalWorkspace:
    return LocalWorkspace(folder, (folder,), {"PATH": "/usr/bin:/bin", "HOME": str(folder)}, None, folder)


@pytest.mark.parametrize(
    ("name", "path"),
    [(name, path) for name in CALLS for path in PATHS if name in {"Read", "Edit"} or path not in WIDE],
)
async def test_a_tool_answers_whatever_path_it_is_given(name: str, path: str, folder: Path):
    (tool,) = [
        tool for tool in builtin_tools(is_read_only_command=lambda _command: False) if tool.name == name
    ]
    call = {**CALLS[name], "path" if name in {"Grep", "Glob"} else "file_path": path}
    workspace = workspace_of(folder)
    try:
        tool.access(call, workspace)
        assert await tool.call(call, tool_context(workspace=workspace)) is not None
    except UsageError:  # what the model is told then is the error
        return


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_what_stands_there_is_said_without_special_rights_too(path: str, folder: Path):
    workspace = workspace_of(folder)
    with nobody():
        try:
            resolved = workspace.resolve(path)
        except UsageError:
            return
        assert isinstance(search_scope(workspace, path, "*.py", NO_ACCESS), SearchScope | NoScope)
        not_a_file(resolved)
        workspace.is_inside(resolved)


def test_a_folder_that_nobody_may_look_into_is_not_said_to_be_missing(folder: Path):
    with nobody():
        scope = search_scope(workspace_of(folder), "closed/in", None, NO_ACCESS)
    assert isinstance(scope, NoScope)
    assert "does not exist" not in scope.reason

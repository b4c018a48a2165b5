"""A call as a person would type it in order to ask about it: a tool's name and the one thing that matters of its input."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from ostinato.errors import UsageError
from ostinato.home_folder import NO_HOME, below_home
from ostinato.permissions.path_resolution import looked_up
from ostinato.permissions.rules import EDIT_TOOLS, READ_TOOLS
from ostinato.permissions.shell_reader import read_command
from ostinato.permissions.verdict import CallFacts

MAIN_PARAMETERS: Final[Mapping[str, str]] = {
    "Bash": "command",
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
    "Grep": "path",
    "Glob": "path",
    "LS": "path",
    "WebFetch": "url",
    "Agent": "subagent_type",
    "Task": "subagent_type",
    "Skill": "skill",
}
"""What a plain text stands for, by tool; other tools take their input as JSON."""


def typed_call(
    tool_name: str, text: str, *, cwd: Path, roots: tuple[Path, ...], home: Path | None
) -> CallFacts:
    """The facts of the call `tool_name` with `text`, which is its main parameter or, in braces, its input as JSON (of Bash, if it names a `command`).

    Looks at the file system to see where paths lead. Raises UsageError for an input that is none.
    """
    home = home or NO_HOME
    call_input = _input_of(tool_name, text)
    command = call_input.get("command")
    reads, writes = _paths_of(tool_name, call_input, cwd, home)
    facts = CallFacts(
        tool_name=tool_name,
        input=call_input,
        is_read_only=tool_name in READ_TOOLS,
        cwd=cwd,
        roots=roots,
        home=home,
        reads=reads,
        writes=writes,
        shell=read_command(command) if tool_name == "Bash" and isinstance(command, str) else None,
    )
    return looked_up(facts)


def _input_of(tool_name: str, text: str) -> Mapping[str, Any]:
    parameter = MAIN_PARAMETERS.get(tool_name)
    if tool_name == "Bash":
        return _as_an_input(text) or {"command": text}
    if text.lstrip().startswith("{"):
        return _read_json(tool_name, text)
    if parameter is not None:
        return {parameter: text}
    if not text.strip():
        return {}
    raise UsageError(
        f"it is not known what `{text}` means to `{tool_name}`",
        hint='give its input as JSON: `{"name": "value"}`',
    )


def _as_an_input(text: str) -> Mapping[str, Any] | None:
    """The input that the text is as JSON, if that names a command; `{ ls; }` and `{a,b}` are commands themselves."""
    try:
        found: object = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    given = cast("dict[str, Any]", found)
    return given if isinstance(given.get("command"), str) else None


def _read_json(tool_name: str, text: str) -> Mapping[str, Any]:
    try:
        found: object = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"the input of `{tool_name}` is no JSON: {error}", hint="quote names and texts"
        ) from error
    return cast("dict[str, Any]", found)  # what starts with a brace and is JSON is an object


def _paths_of(
    tool_name: str, call_input: Mapping[str, Any], cwd: Path, home: Path
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """(reads, writes); a search without a path is one of the working folder."""
    if tool_name not in READ_TOOLS | EDIT_TOOLS:
        return (), ()
    value = call_input.get(MAIN_PARAMETERS[tool_name], "")
    text = value if isinstance(value, str) else ""
    below = below_home(text)
    path = cwd / text if below is None else home / below
    return ((path,), ()) if tool_name in READ_TOOLS else ((), (path,))

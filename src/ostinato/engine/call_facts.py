"""What the rules judge a call by: what it is, every path that it names or will be held to, and whether it is proven to only read.

What reads commands and follows paths is loaded with the first call, while the reply still streams, so that no start waits for it.
"""

from collections.abc import Container, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ostinato.errors import UsageError
from ostinato.home_folder import NO_HOME, expand_home
from ostinato.permissions.verdict import CallFacts
from ostinato.ports import PermissionQuery, Workspace

PATH_INPUTS = ("file_path", "notebook_path", "path")


def facts_of(query: PermissionQuery, home: Path | None, builtin_names: Container[str]) -> CallFacts:
    """The facts of a call that wants to run. Only a tool of our own is believed that it only reads."""
    is_read_only = query.tool.name in builtin_names and _is_read_only(query)
    facts_with = partial(
        call_facts, query.tool.name, query.input, query.workspace, home=home, is_read_only=is_read_only
    )
    reads, writes = touched(query, home)
    facts = facts_with(paths=(reads, writes))
    more_reads, more_writes = _judged_nowhere(query, facts)
    if not (more_reads or more_writes):
        return facts
    return facts_with(paths=((*reads, *more_reads), (*writes, *more_writes)))


def call_facts(
    tool_name: str,
    call_input: Mapping[str, Any],
    workspace: Workspace,
    *,
    home: Path | None,
    is_read_only: bool,
    paths: tuple[tuple[Path, ...], tuple[Path, ...]],
) -> CallFacts:
    """The facts of a call with every path it mentions resolved; `paths` are what it reads and what it writes."""
    from ostinato.permissions.path_resolution import looked_up  # ruff: ignore[import-outside-top-level] - see the module's docstring
    from ostinato.permissions.shell_reader import read_command  # ruff: ignore[import-outside-top-level] - as above

    command = call_input.get("command") if tool_name == "Bash" else None
    reads, writes = paths
    facts = CallFacts(
        tool_name=tool_name,
        input=call_input,
        is_read_only=is_read_only,
        cwd=workspace.cwd,
        roots=workspace.roots,
        home=home or NO_HOME,
        reads=reads,
        writes=writes,
        shell=read_command(command) if isinstance(command, str) else None,
        shell_folder=workspace.shell_folder,
        stored_results=workspace.stored_results,
    )
    return looked_up(facts)


def is_read_only_shell(command: str) -> bool:
    """Whether everything that the shell could run is proven to only read."""
    from ostinato.permissions import read_only  # ruff: ignore[import-outside-top-level] - as above

    return read_only.is_read_only_shell(command)


def _is_read_only(query: PermissionQuery) -> bool:
    try:
        return query.tool.is_read_only(query.input)
    except (KeyError, TypeError, ValueError):
        return False


def may_look_at_repositories(query: PermissionQuery) -> bool:
    """Whether the facts may take a walk through the settings of a repository and all its submodules."""
    return query.tool.name == "Bash" and "git" in str(query.input.get("command", ""))


def touched(query: PermissionQuery, home: Path | None) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """What the call reads and writes, as written by the model where it wrote a path (links not followed).

    A path that nobody can expand is not what the tool touches; the tool's own word counts then.
    """
    access = query.tool.access(query.input, query.workspace)
    texts = [value for name in PATH_INPUTS if isinstance(value := query.input.get(name), str)]
    try:
        written = tuple(query.workspace.cwd / expand_home(text, home) for text in texts)
    except UsageError:
        written = ()
    if access.writes:
        return access.reads, written or access.writes
    return written or access.reads, ()


def _judged_nowhere(query: PermissionQuery, facts: CallFacts) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """What the call will be held to, but the path that the model wrote does not lead to: a link was changed in between."""
    if query.access is None:
        return (), ()
    judged = {path for targets in facts.resolved.values() for path in targets}
    reads, writes = query.access.reads, query.access.writes
    return tuple(p for p in reads if p not in judged), tuple(p for p in writes if p not in judged)

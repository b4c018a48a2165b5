"""Where paths really lead, and what a repository's settings would run: the part of the gate that looks at the file
system, kept apart from the decision.

Promise: a path that cannot be resolved for certain is left out, and the decision asks about what is left out.
"""

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec.structs import replace

from ostinato.permissions.call_paths import git_folders, mentioned_paths
from ostinato.permissions.process_links import leads_through_a_process
from ostinato.permissions.repository_settings import repository_problem
from ostinato.permissions.verdict import CallFacts

MAX_MATCHES = 1_000
WILDCARDS = frozenset("*?[")


def looked_up(call: CallFacts) -> CallFacts:
    """The call with everything that the decision needs to know of the file system: nothing, where it names no path."""
    if not call.reads and not call.writes and call.shell is None:
        return call
    resolved = resolve_paths(mentioned_paths(call))
    there = {path: targets for path, targets in resolved.items() if any(map(os.path.lexists, targets))}
    folders = frozenset(path for path, targets in there.items() if any(map(os.path.isdir, targets)))
    return replace(
        call,
        resolved=resolved,
        repository_problem=_problem_of_git(call),
        folders=folders,
        files=frozenset(there) - folders,
    )


def _problem_of_git(call: CallFacts) -> str:
    for folder in git_folders(call):
        if folder != call.cwd and not os.path.isdir(folder):
            return f"`{folder}` is not there yet, so nobody knows which repository it will be"
        if problem := repository_problem(folder):
            return problem
    return ""


def resolve_paths(paths: Iterable[Path]) -> Mapping[Path, tuple[Path, ...]]:
    """Each path with all that it can mean: its real path, and for a wildcard in the last part, its matches' too."""
    resolved: dict[Path, tuple[Path, ...]] = {}
    for path in paths:
        targets = _targets(path)
        if targets is not None:
            resolved[path] = targets
    return resolved


def _targets(path: Path) -> tuple[Path, ...] | None:
    try:
        literal = Path(os.path.realpath(path))
        if leads_through_a_process(path, literal):
            return None
        if not WILDCARDS & set(str(path)):
            return (literal,)
        if WILDCARDS & set(str(path.parent)):
            return None
        matches = _matches(path)
    except (OSError, ValueError):
        return None
    return None if matches is None else (literal, *matches)


def _matches(pattern: Path) -> tuple[Path, ...] | None:
    found: list[Path] = []
    if not os.path.isdir(pattern.parent):
        return ()
    with os.scandir(pattern.parent) as entries:
        for entry in entries:
            if fnmatchcase(entry.name, pattern.name):
                found.append(Path(os.path.realpath(entry.path)))
            if len(found) > MAX_MATCHES:
                return None
    return tuple(found)

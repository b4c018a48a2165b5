"""Where instruction files may lie, in the order in which they count: nothing is read here, only folders of rules are listed."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from ostinato.attachments.instruction_files import InstructionPlaces, Kind, Origin
from ostinato.real_path import real_path

MAX_RULE_FILES: Final = 500
"""Of one folder of rules."""

MAX_RULE_ENTRIES: Final = 10_000
"""Names looked at below one folder of rules."""

_USER_NAMES: Final = ("AGENTS.md", "CLAUDE.md", "rules")
_FOLDER_NAMES: Final = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md")
_FOLDERS_BELOW: Final = ((".claude", ("CLAUDE.md", "rules")), (".ostinato", ("rules",)))


class Candidate(msgspec.Struct, frozen=True):
    """A file that may exist. `paths` are the patterns it inherits from a rule that imports it."""

    path: Path
    kind: Kind
    origin: Origin
    base: Path
    imported_from: Path | None = None
    paths: tuple[str, ...] = ()
    depth: int = 0


def start_candidates(places: InstructionPlaces) -> Iterator[Candidate]:
    """Managed, the user's, then each folder from the root of the file system down to `cwd`."""
    for path in places.managed:
        yield Candidate(path, "instructions", "managed", places.cwd)
    yield from _user_candidates(places)
    for folder in (*reversed(places.cwd.parents), places.cwd):
        yield from folder_candidates(folder)


def folder_candidates(folder: Path) -> Iterator[Candidate]:
    """One folder of a project: both AGENTS.md and CLAUDE.md count, CLAUDE.md after it as the more specific."""
    for name in ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"):
        yield Candidate(folder / name, "instructions", "project", folder)
    for name in (".ostinato/rules", ".claude/rules"):
        for path in rule_paths(folder / name):
            yield Candidate(path, "rule", "project", folder)
    yield Candidate(folder / "CLAUDE.local.md", "local", "project", folder)


def is_anything_there(places: InstructionPlaces) -> bool:
    """Whether any file of instructions may exist: a few quick looks at the disk, for the many runs that have none.

    Every file of `start_candidates` is one of those looked for, or lies in one of them.
    """
    if any(map(os.path.lexists, places.managed)):
        return True
    if places.data_root is not None and _holds(str(places.data_root), _USER_NAMES):
        return True
    if places.home is not None and _holds(f"{places.home}/.claude", _USER_NAMES):
        return True
    return any(map(_may_hold, _upwards(str(places.cwd))))


def _may_hold(folder: str) -> bool:
    """`folder` ends with a slash."""
    if any(os.path.lexists(folder + name) for name in _FOLDER_NAMES):
        return True
    return any(_holds(folder + below, names) for below, names in _FOLDERS_BELOW)


def _holds(folder: str, names: Iterable[str]) -> bool:
    """One look where there is no such folder, as nearly everywhere."""
    return os.path.lexists(folder) and any(os.path.lexists(f"{folder}/{name}") for name in names)


def _upwards(folder: str) -> Iterator[str]:
    """The folder and all above it, each with its slash."""
    while folder != os.sep:
        yield f"{folder}{os.sep}"
        folder = os.path.dirname(folder)
    yield os.sep


def _user_candidates(places: InstructionPlaces) -> Iterator[Candidate]:
    folders = [places.data_root] if places.data_root is not None else []
    folders += [places.home / ".claude"] if places.home is not None else []
    for folder in folders:
        if folder == places.data_root:
            yield Candidate(folder / "AGENTS.md", "instructions", "user", places.cwd)
        yield Candidate(folder / "CLAUDE.md", "instructions", "user", places.cwd)
    for folder in folders:
        for path in rule_paths(folder / "rules"):
            yield Candidate(path, "rule", "user", places.cwd)


def rule_paths(folder: Path) -> list[Path]:
    """All `*.md` below a folder in the order of their names; links are followed, each real folder once."""
    found: list[Path] = []
    seen_folders: set[str] = set()
    entries = 0
    for current, folders, files in os.walk(folder, followlinks=True):
        real = str(real_path(current))
        if real in seen_folders:
            folders.clear()
            continue
        seen_folders.add(real)
        folders.sort()
        entries += len(files) + len(folders)
        found += [Path(current, name) for name in files if name.endswith(".md")]
        if entries > MAX_RULE_ENTRIES or len(found) > MAX_RULE_FILES:
            break
    return sorted(found, key=lambda path: path.parts)[:MAX_RULE_FILES]

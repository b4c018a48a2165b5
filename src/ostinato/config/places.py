"""The folders that settings lie in, and the quick look whether there is anything in them at all.

Most runs find nothing: then this file is all of `config` that was loaded, and a dozen looks at the disk all that was done.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

import msgspec

from ostinato.real_path import real_path

MANAGED_FOLDERS: Final = (Path("/etc/ostinato"), Path("/etc/claude-code"))
MANAGED_NAMES: Final = ("managed-settings.json", "managed-settings.d")
PROJECT_FOLDERS: Final = (".ostinato", ".claude")
LOCAL_FILE: Final = Path(".ostinato/settings.local.json")
"""Under the project root: where saved rules go."""

MCP_FILE: Final = ".mcp.json"
ACTING_PARENTS: Final = (*PROJECT_FOLDERS, ".agents")
"""The folders of a project in which things lie that could act."""


class Places(msgspec.Struct, frozen=True):
    """The folders that settings lie in. None: there is none (no home).

    `project_root` is `find_project_root`'s; `data_root` is ours; `other_user_folder` is the other tool's, normally
    `~/.claude`.
    """

    project_root: Path
    data_root: Path | None
    other_user_folder: Path | None
    managed_folders: tuple[Path, ...] = MANAGED_FOLDERS


def find_project_root(cwd: Path, home: Path | None) -> Path:
    """The nearest folder at or above `cwd` with a `.git`, else `cwd`; resolved. A worktree is a root of its own.

    A home folder under version control is not a project for what lies below it.
    """
    return project_root_of(str(real_path(cwd)), home)


def project_root_of(start: str, home: Path | None) -> Path:
    """The same for a folder that is resolved already."""
    folder = start
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return Path(start)
        folder = above
    is_home = home is not None and folder == str(real_path(home))
    return Path(start if is_home else folder)


def is_anything_there(places: Places, chosen: Collection[str]) -> bool:
    """Whether a settings file of the `chosen` levels, a managed one, or anything of the project's that acts may exist.

    What cannot be looked at counts as there: whoever reads it will say what is wrong.
    """
    return any(_may_exist(path) for path in _looked_for(places, chosen))


def _looked_for(places: Places, chosen: Collection[str]) -> Iterator[str]:
    for folder in places.managed_folders:
        for name in MANAGED_NAMES:
            yield f"{folder}/{name}"
    if "project" in chosen or "local" in chosen:
        for name in (*ACTING_PARENTS, MCP_FILE):
            yield f"{places.project_root}/{name}"
    if "user" in chosen:
        for folder in (places.data_root, places.other_user_folder):
            if folder is not None:
                yield f"{folder}/settings.json"


def _may_exist(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True

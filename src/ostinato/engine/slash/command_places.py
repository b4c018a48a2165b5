"""Where commands of a user and a project lie, from what wins to what yields."""

import os
from pathlib import Path
from typing import Final

import msgspec

from ostinato.engine.slash.command_file import Scope

FOLDER: Final = "commands"
PROJECT_FOLDERS: Final = (".ostinato", ".claude")


class CommandPlaces(msgspec.Struct, frozen=True):
    """`project_root` is the folder that trust is asked for, `data_root` ours, `home` the user's; None: there is none."""

    project_root: Path
    data_root: Path | None = None
    home: Path | None = None


class CommandFolder(msgspec.Struct, frozen=True):
    """`inside`: real paths must lie in this folder; None for the user's own, who may link to wherever they like.

    `thing` is the folder's name below the project root.
    """

    scope: Scope
    path: Path
    inside: Path | None = None
    thing: str = ""


def command_folders(places: CommandPlaces) -> tuple[CommandFolder, ...]:
    """The project's before the user's, ours before the other tool's. In the home folder there are only the user's own."""
    user: list[Path] = []
    if places.data_root is not None:
        user.append(places.data_root / FOLDER)
    if places.home is not None:
        user.append(places.home / ".claude" / FOLDER)
    owned = {_place(path) for path in user}
    root = Path(os.path.realpath(places.project_root))
    project = [(name, root / name / FOLDER) for name in PROJECT_FOLDERS]
    return (
        *(
            CommandFolder("project", path, root, f"{name}/{FOLDER}")
            for name, path in project
            if _place(path) not in owned
        ),
        *(CommandFolder("user", path) for path in user),
    )


def _place(path: Path) -> Path:
    """Links above the tool's own folder do not count as a difference; one that a project makes of it does."""
    tool_folder = path.parent
    return Path(os.path.realpath(tool_folder.parent)) / tool_folder.name / path.name

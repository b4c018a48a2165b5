"""Instructions that wait for their files: rules with `paths`, and what lies in folders below the working folder.

Each is attached after the first touch of a file it is meant for, and again only when the view has lost it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from anyio import to_thread

from ostinato.attachments.instruction_files import InstructionFile, InstructionPlaces, LoadedInstructions
from ostinato.attachments.instruction_text import instruction_part
from ostinato.attachments.load_instructions import load_folder_instructions
from ostinato.attachments.path_rules import PathPatterns
from ostinato.attachments.told import path_key, told_keys
from ostinato.attachments.touched_files import last_round, touched_paths
from ostinato.errors import UsageError
from ostinato.messages import Message, Reminder, attachment_message
from ostinato.ports import Ids, Workspace

SOURCE: Final = "nested_instructions"
MAX_FILES: Final = 20
"""Attached at once; the rest comes with the next touch."""

MAX_CHARACTERS: Final = 40_000
"""Of one attached file: what is advised for a whole one."""


class NestedInstructions:
    """A collector. `loaded` is what the session started with: it is not attached again, its rules with `paths` are."""

    def __init__(
        self, loaded: LoadedInstructions, places: InstructionPlaces, workspace: Workspace, ids: Ids
    ) -> None:
        self._waiting = tuple(file for file in loaded.files if file.paths)
        self._resolved = loaded.resolved
        self._places = places
        self._workspace = workspace
        self._ids = ids
        self._has_looked_back = False
        self.found = LoadedInstructions()
        """What the folders looked at so far hold, with their problems, for `/memory`."""

    def at_once(self, view: Sequence[Message]) -> Sequence[Message] | None:
        """Nothing, where no file was touched."""
        if self._named(view):
            return None
        self._has_looked_back = True
        return ()

    def _named(self, view: Sequence[Message]) -> Sequence[str]:
        """The first call looks at the whole view, later ones at the last round."""
        return touched_paths(last_round(view) if self._has_looked_back else view)

    async def __call__(self, view: Sequence[Message]) -> Sequence[Message]:
        """One reminder for each file that is due."""
        named = self._named(view)
        touched = [path for path in map(self._resolve, named) if path is not None]
        due: list[InstructionFile] = []
        if touched:
            nested = await to_thread.run_sync(
                load_nested, touched, self._places, self._resolved, abandon_on_cancel=True
            )
            self.found = self.found.plus(nested)
            due = due_files((*self._waiting, *nested.files), touched)
        self._has_looked_back = True
        told = told_keys(view, SOURCE) if due else frozenset[str]()
        new = [file for file in due if path_key(file.path) not in told][:MAX_FILES]
        return [attachment_message(self._ids.uuid(), _reminder(file)) for file in new]

    def _resolve(self, named: str) -> Path | None:
        try:
            return self._workspace.resolve(named)
        except (UsageError, OSError, ValueError):
            return None


def load_nested(
    touched: Sequence[Path], places: InstructionPlaces, already: frozenset[Path]
) -> LoadedInstructions:
    """What the folders between `places.cwd` and the touched files hold, outer folders first, each once. Blocking."""
    folders = {
        folder
        for path in touched
        for folder in path.parents
        if folder.is_relative_to(places.cwd) and folder != places.cwd
    }
    found = LoadedInstructions()
    for folder in sorted(folders, key=lambda folder: folder.parts):
        found = found.plus(load_folder_instructions(folder, places, already | found.resolved))
    return found


def due_files(files: Sequence[InstructionFile], touched: Sequence[Path]) -> list[InstructionFile]:
    """The files that these touches call for: all without `paths`, and the others if one of them is meant."""
    return [file for file in files if not file.paths or any(is_meant(file, path) for path in touched)]


def is_meant(file: InstructionFile, touched: Path) -> bool:
    """Whether a touched file is one of those that `file.paths` describe, seen from `file.base`."""
    if not touched.is_relative_to(file.base):
        return False
    return PathPatterns(file.paths).matches(touched.relative_to(file.base).as_posix())


def _reminder(file: InstructionFile) -> Reminder:
    text = instruction_part(file)
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]}\n[cut after {MAX_CHARACTERS} characters; Read the file for the rest]"
    return Reminder(SOURCE, f"Instructions for files you have touched. {text}", path_key(file.path))

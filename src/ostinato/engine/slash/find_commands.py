"""Reading all commands of a user and a project: what cannot be used is left out and named, and costs no other.

Blocking; run it in a worker thread. Nothing is kept between two looks, so a changed file counts at once.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from ostinato.attachments.file_text import NotRead, decoded, read_file_bytes, why
from ostinato.engine.slash.command_file import CommandFile, CommandProblem, parse_command
from ostinato.engine.slash.command_line import CommandLine, read_command_line
from ostinato.engine.slash.command_places import CommandFolder, CommandPlaces, command_folders

MAX_FILE_BYTES: Final = 256 << 10
MAX_TOTAL_BYTES: Final = 16 << 20
"""Of all command files together."""

MAX_FILES: Final = 1_000
MAX_ENTRIES: Final = 10_000
"""Names looked at in all folders together, whatever they are."""

MAX_DEPTH: Final = 8
SUFFIX: Final = ".md"


class FoundCommands(msgspec.Struct, frozen=True):
    """Commands from what wins to what yields; of two with the same name and scope only the first is here."""

    commands: tuple[CommandFile, ...] = ()
    problems: tuple[CommandProblem, ...] = ()

    def named(self, name: str) -> CommandFile | None:
        """The command that the name means: as it is written, else without regard to case; plain names before qualified."""
        for wanted, key in ((name, str), (name.casefold(), str.casefold)):
            for command in self.commands:
                if key(command.name) == wanted:
                    return command
            for command in self.commands:
                if key(command.qualified_name) == wanted:
                    return command
        return None


def find_commands(places: CommandPlaces) -> FoundCommands:
    """Everything that can be used, and everything that cannot, with the reason."""
    search = _Search()
    for folder in command_folders(places):
        search.read(folder)
    return FoundCommands(tuple(search.commands.values()), tuple(search.problems))


class _Search:
    """The commands so far, by scope and name."""

    def __init__(self) -> None:
        self.commands: dict[tuple[str, str], CommandFile] = {}
        self.problems: list[CommandProblem] = []
        self._left_entries = MAX_ENTRIES
        self._left_bytes = MAX_TOTAL_BYTES

    def read(self, folder: CommandFolder) -> None:
        for names, path in self._files(folder, (), folder.path, frozenset()):
            if len(self.commands) >= MAX_FILES:
                self._skip(path, f"{MAX_FILES} commands are loaded already")
                return
            self._read_file(folder, names, path)

    def _files(
        self, folder: CommandFolder, names: tuple[str, ...], path: Path, above: frozenset[Path]
    ) -> Iterator[tuple[tuple[str, ...], Path]]:
        """The Markdown files below, each with its name in parts. Links are followed as far as they may lead."""
        if not os.path.lexists(path) or not self._may_open(folder, path):
            return
        real = Path(os.path.realpath(path))
        if real in above or len(names) > MAX_DEPTH:
            circle = "it is a link to a folder that it lies in"
            self._skip(path, circle if real in above else f"it lies more than {MAX_DEPTH} folders deep")
            return
        for name in self._entries(path):
            child = path / name
            if name.endswith(SUFFIX):
                yield (*names, name.removesuffix(SUFFIX)), child
            elif not name.startswith(".") and os.path.isdir(child):
                yield from self._files(folder, (*names, name), child, above | {real})

    def _entries(self, path: Path) -> Iterable[str]:
        if self._left_entries <= 0:
            return ()
        try:
            with os.scandir(path) as entries:
                found = [entry.name for _, entry in zip(range(self._left_entries), entries, strict=False)]
        except OSError as error:
            self._skip(path, why(error))
            return ()
        self._left_entries -= len(found)
        if self._left_entries <= 0:
            self._skip(path, f"the folders of commands hold more than {MAX_ENTRIES} names")
        return sorted(found)

    def _read_file(self, folder: CommandFolder, names: tuple[str, ...], path: Path) -> None:
        if not self._may_open(folder, path):
            return None
        name = ":".join(names)
        if read_command_line(f"/{name}") != CommandLine(name):
            return self._skip(path, "its name cannot be typed as a command; use letters, digits, `-` and `_`")
        read = read_file_bytes(Path(os.path.realpath(path)), max_bytes=min(MAX_FILE_BYTES, self._left_bytes))
        if isinstance(read, NotRead):
            return self._skip(path, read.reason)
        self._left_bytes -= len(read.data)
        text = decoded(read.data)
        if text is None:
            return self._skip(path, "it is not text")
        parsed = parse_command(
            text,
            name=name,
            scope=folder.scope,
            path=path,
            digest=hashlib.sha256(read.data).hexdigest(),
            thing="/".join((folder.thing, *names)) + SUFFIX if folder.thing else "",
        )
        self.problems.extend(parsed.problems)
        if parsed.command is not None:
            self.commands.setdefault((folder.scope, name), parsed.command)
        return None

    def _may_open(self, folder: CommandFolder, path: Path) -> bool:
        """A project's link may not reach out of the project: it must not bring private files before a model."""
        real = Path(os.path.realpath(path))
        if folder.inside is None or real.is_relative_to(folder.inside):
            return True
        self._skip(path, f"it is a link that leads out of the project, to `{real}`")
        return False

    def _skip(self, path: Path, reason: str) -> None:
        self.problems.append(CommandProblem(path, reason))

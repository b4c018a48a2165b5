"""What the editor offers while somebody types: commands behind a slash at the beginning, paths behind an `@` anywhere."""

import os
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from ostinato.cli.path_listing import PathListing
from ostinato.cli.path_matching import MAX_MATCHES, matching
from ostinato.errors import UsageError
from ostinato.home_folder import expand_home
from ostinato.visible_text import one_line, visible

MAX_SCANNED_ENTRIES: Final = 2_000
"""Of a folder outside the working folder."""

_COMMANDS_FRESH_S: Final = 5.0
_MAX_DESCRIPTION_CHARACTERS: Final = 100
_COMMAND: Final = re.compile(r"/(\S*)")
_PATH: Final = re.compile(r"(?:^|(?<=[\s(\[{<,;:'\"]))@(\"[^\"\n]*|[^\s\"]*)\Z")

NamedCommand = tuple[str, str]
"""A command's name without its slash, and what it does."""


class LineCompleter(Completer):
    """`commands` is blocking and asked in a thread."""

    def __init__(
        self,
        listing: PathListing,
        commands: Callable[[], Sequence[NamedCommand]],
        cwd: Path,
        home: Path | None,
    ) -> None:
        self._listing = listing
        self._commands = commands
        self._cwd = cwd
        self._home = home
        self._known_commands: Sequence[NamedCommand] = ()
        self._known_s: float | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Nothing: what there is to offer has to be waited for."""
        del document, complete_event
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        del complete_event
        before = document.text_before_cursor
        command = _COMMAND.fullmatch(before)
        path = _PATH.search(before)
        if command is not None:
            for completion in await self._named(command[1]):
                yield completion
        elif path is not None:
            typed = path[1].removeprefix('"')
            for found in await self._paths(typed):
                yield Completion(_mention(found), start_position=-len(path[1]) - 1, display=found)

    async def _named(self, typed: str) -> list[Completion]:
        if self._known_s is None or anyio.current_time() - self._known_s > _COMMANDS_FRESH_S:
            self._known_commands = await to_thread.run_sync(self._commands)
            self._known_s = anyio.current_time()
        return [
            Completion(
                f"/{name}",
                start_position=-len(typed) - 1,
                display_meta=one_line(description, _MAX_DESCRIPTION_CHARACTERS),
            )
            for name, description in self._known_commands
            if name.casefold().startswith(typed.casefold())
        ]

    async def _paths(self, typed: str) -> list[str]:
        if typed.startswith(("/", "~", "..")):
            return await to_thread.run_sync(_in_folder, self._cwd, self._home, typed)
        return await to_thread.run_sync(matching, await self._listing.paths(), typed)


def _in_folder(cwd: Path, home: Path | None, typed: str) -> list[str]:
    """What lies in the folder that is written so far; nothing if it cannot be read."""
    folder, slash, begun = typed.rpartition("/")
    names: list[str] = []
    try:
        with os.scandir(cwd / expand_home(folder + slash or ".", home)) as entries:
            for entry, _ in zip(entries, range(MAX_SCANNED_ENTRIES), strict=False):
                if entry.name.startswith(begun) and visible(entry.name) == entry.name:
                    names.append(f"{entry.name}/" if entry.is_dir() else entry.name)
    except (OSError, ValueError, UsageError):
        return []
    return [f"{folder}{slash}{name}" for name in sorted(names)[:MAX_MATCHES]]


def _mention(path: str) -> str:
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"

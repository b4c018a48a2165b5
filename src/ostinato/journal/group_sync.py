"""One sync for everybody who waits: side files first, then the session file, then the folder entry of a new one."""

import os
from pathlib import Path

import anyio
import anyio.to_thread

from ostinato.journal.append_file import AppendFile


class GroupSync:
    """Makes what was written safe from power loss. A cancelled caller loses nothing: the next one syncs it."""

    def __init__(self, file: AppendFile) -> None:
        self._file = file
        self._turn = anyio.Lock()
        self._safe_end = -1  # nothing yet: a new file's folder entry needs a sync too
        self._side_files: list[Path] = []

    def include(self, side_file: Path) -> None:
        """A side file that the next sync must make safe before the line that names it."""
        self._side_files.append(side_file)

    async def sync(self) -> None:
        """Everything written before this call is safe when it returns. Raises JournalError."""
        wanted = self._file.end
        async with self._turn:
            self._file.require_sound()
            if self._safe_end >= wanted:
                return
            end, side_files = self._file.end, tuple(self._side_files)
            try:
                await anyio.to_thread.run_sync(self._sync_all, side_files)
            except OSError as error:
                raise self._file.poisoned("sync", error) from error
            self._safe_end = end
            del self._side_files[: len(side_files)]

    def _sync_all(self, side_files: tuple[Path, ...]) -> None:
        for path in side_files:
            self._file.sync_beside(path)
        for folder in {path.parent for path in side_files}:
            _sync_folder(folder)
        self._file.sync()
        if self._safe_end < 0:
            _sync_folder(self._file.path.parent)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

"""The growing `.part` file of a pull: one prefix of the model, whichever source delivered it.

Every source delivers the same bytes, so one prefix serves them all: what one source began, another can finish.
The file is append-only; whatever interrupts a pull leaves a prefix that the next pull goes on from.
"""

import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import anyio.to_thread

if sys.platform != "win32":
    import fcntl

BLOCK_BYTES = 1 << 20
"""One write, one progress report: a megabyte keeps thread hops rare and the progress bar alive."""

OnBytes = Callable[[int, int], None]
"""Told `(bytes done, bytes total)` after each write."""


class SourceFailed(Exception):
    """One source cannot deliver; `reason` says why. The next source is tried."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PartFile:
    """An open part file that is only appended to and never grows past `total_bytes`."""

    def __init__(self, path: Path, file: BinaryIO, *, total_bytes: int, on_bytes: OnBytes) -> None:
        self.path = path
        self._file = file
        self._on_bytes = on_bytes
        self.total_bytes = total_bytes
        self.done_bytes = file.seek(0, os.SEEK_END)

    @property
    def is_complete(self) -> bool:
        """Whether as many bytes are there as the model has."""
        return self.done_bytes == self.total_bytes

    async def append(self, block: bytes) -> None:
        """Write `block` behind what is there. Raises `SourceFailed` when the source delivers too much."""
        if self.done_bytes + len(block) > self.total_bytes:
            raise SourceFailed(f"it delivers more than the {self.total_bytes:,} bytes of the model")
        await anyio.to_thread.run_sync(self._write, block)
        self.done_bytes += len(block)
        self._on_bytes(self.done_bytes, self.total_bytes)

    def restart(self) -> None:
        """Forget the prefix: the source can only deliver from the first byte."""
        self._file.seek(0)
        self._file.truncate()
        self.done_bytes = 0

    def _write(self, block: bytes) -> None:
        # Unbuffered, so a write may be short; what is on disk is a prefix either way.
        view = memoryview(block)
        while view:
            view = view[self._file.write(view) :]


@contextmanager
def open_part(target: Path, *, total_bytes: int, on_bytes: OnBytes) -> Generator[PartFile]:
    """The part file of `target`, held by this pull alone while the block runs; an empty one is removed at the end.

    Raises `BlockingIOError` when another pull holds it, `OSError` with ENOSPC when the rest will not fit.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    path = target.with_name(target.name + ".part")
    with path.open("ab", buffering=0) as file:
        _lock(file)
        part = PartFile(path, file, total_bytes=total_bytes, on_bytes=on_bytes)
        if part.done_bytes > total_bytes:
            part.restart()
        try:
            if shutil.disk_usage(target.parent).free < total_bytes - part.done_bytes:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            yield part
        finally:
            if part.done_bytes == 0:
                path.unlink(missing_ok=True)


def _lock(file: BinaryIO) -> None:
    # Windows has no such lock; two pulls at once then spoil the part file, which the sum finds out.
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


async def sum_of(path: Path) -> str:
    """SHA-256 of a whole file, in hex, empty when there is no file; a second or two a gigabyte, in a thread."""

    def read_all() -> str:
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return ""

    return await anyio.to_thread.run_sync(read_all)

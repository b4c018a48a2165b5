"""A file that only grows: whole lines or nothing, and after the first failure nothing ever again.

It looks before each append whether it is still the file it left, and tells what other programs added meanwhile.
"""

import contextlib
import errno
import fcntl
import os
from pathlib import Path

import msgspec

from ostinato.errors import JournalError
from ostinato.journal.disk import Disk
from ostinato.real_path import real_path_of_open

_POISONED_HINT = "nothing more is kept; free some space or check the disk, then resume the session"


class Added(msgspec.Struct, frozen=True):
    """Lines, without their ends, that appeared since the last append. `has_own`: our own last line is among the file's
    new bytes although its append did not return, because an interrupt came between the write and the count of it.
    """

    lines: tuple[bytes, ...] = ()
    has_own: bool = False


class AppendFile:
    """`end` is the length in bytes as we know it."""

    def __init__(self, fd: int, path: Path, *, end: int, disk: Disk) -> None:
        """`fd` is open for reading and appending; it is closed by `close`."""
        self.path = path
        self.end = end
        self._fd = fd
        self._disk = disk
        self._in_flight = b""
        self._failure: JournalError | None = None

    @property
    def is_sound(self) -> bool:
        return self._failure is None

    def real_path(self) -> Path:
        """Where it lies, without links."""
        return real_path_of_open(self._fd, self.path)

    def require_sound(self) -> None:
        """Raises JournalError if anything has failed before."""
        if self._failure is not None:
            raise JournalError(self._failure.message, hint=self._failure.hint) from self._failure

    def added(self) -> Added | None:
        """What others appended, which is then part of the file; None if nothing, as nearly always. Raises JournalError if it was
        cut or deleted, or if anything has failed before.
        """
        if self._failure is not None:
            self.require_sound()
        try:
            status = os.fstat(self._fd)
            if status.st_size == self.end and status.st_nlink:
                return None
            if not status.st_nlink or status.st_size < self.end:
                raise self.poisoned("write", "it was deleted or cut by another program")
            data = os.pread(self._fd, status.st_size - self.end, self.end)
        except OSError as error:
            raise self.poisoned("read", error) from error
        own = self._in_flight
        lines = data.removesuffix(b"\n").split(b"\n")
        others = tuple(line for line in lines if line + b"\n" != own)
        self.end += len(data)
        if not data.endswith(b"\n"):
            self.append(b"\n")
        return Added(others, has_own=len(others) < len(lines))

    def append(self, data: bytes) -> None:
        """All of the data, or none of it and a JournalError."""
        self._in_flight = data
        written, length = 0, len(data)
        try:
            while written < length:
                count = self._disk.write(self._fd, data[written:] if written else data)
                if count <= 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                written += count
        except OSError as error:
            self._cut_back(written)
            raise self.poisoned("write", error) from error
        self.end += length
        self._in_flight = b""

    def sync(self) -> None:
        """Make the file safe; blocks for milliseconds. Raises OSError."""
        self._disk.sync(self._fd)

    def sync_beside(self, path: Path) -> None:
        """Make another file of the session safe. Raises OSError."""
        fd = os.open(path, os.O_RDONLY)
        try:
            self._disk.sync(fd)
        finally:
            os.close(fd)

    def remove(self) -> None:
        """Take the file away, unless others wrote into it or another one has its name. Whoever has it open meanwhile finds it
        deleted, and says so.
        """
        with contextlib.suppress(OSError):
            mine, named = os.fstat(self._fd), os.stat(self.path)
            if os.path.samestat(mine, named) and mine.st_size == self.end:
                os.unlink(self.path)

    def close(self) -> None:
        """Close and unlock; every later append raises."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._failure = self._failure or JournalError(f"the session file `{self.path}` is closed")

    def poisoned(self, attempt: str, reason: Exception | str) -> JournalError:
        """From now on every append fails with this error, which is returned to be raised."""
        why = (reason.strerror if isinstance(reason, OSError) else "") or str(reason)
        self._failure = JournalError(
            f"cannot {attempt} the session file `{self.path}`: {why}", hint=_POISONED_HINT
        )
        return self._failure

    def _cut_back(self, written: int) -> None:
        """Take half a line away again, unless somebody appended behind it; then the reader leaves it out."""
        try:
            if written and os.fstat(self._fd).st_size == self.end + written:
                self._disk.truncate(self._fd, self.end)
        except OSError:
            return  # the reader copes with a torn tail; the error that counts is the first


def lock(fd: int, path: Path) -> None:
    """Hold the file for one writer until `fd` is closed or the process ends. Raises JournalError if somebody has it.

    File systems without locks are left to the look before each append.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise JournalError(
            f"the session file `{path}` is in use by another process",
            hint="go on with it when the other process has ended, or begin a new session",
        ) from error
    except OSError:
        return

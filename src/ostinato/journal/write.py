"""Writing a session file: one writer, one synchronous write per record, and no further word after any failure.

A record is written when `write` returns: it survives the process. After `sync` it survives the machine. Whatever goes
wrong on the way poisons the writer, so that nothing is shown as kept that is not.
"""

import errno
import fcntl
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from ostinato.codec import (
    FORMAT,
    BrokenLine,
    Envelope,
    ForeignLine,
    SealedLine,
    decode_line,
    encode,
    encode_line,
)
from ostinato.errors import JournalError
from ostinato.journal import side_files
from ostinato.journal.chain import Chain
from ostinato.journal.disk import Disk
from ostinato.journal.read import Scan, renamed
from ostinato.records import Record

_POISONED_HINT = "nothing more is kept; free some space or check the disk, then resume the session"


class SessionWriter:
    """The one writer of a session file; `opening.py` makes it. Implements the Journal port.

    Before each write it looks whether the file is still the one it left: another program's rename or tag is taken in,
    a record of another writer or a file cut or deleted by somebody ends this writer.
    """

    def __init__(
        self,
        fd: int,
        path: Path,
        found: Scan,
        *,
        session_id: str,
        cwd: str,
        now: Callable[[], datetime],
        disk: Disk,
    ) -> None:
        """`fd` is open for appending and locked; `found` is what the file holds already, read under that lock."""
        self.path = path
        self.session_id = session_id
        self._fd = fd
        self._cwd = cwd
        self._now = now
        self._disk = disk
        self._seq = found.last_seq
        self._epoch = found.epoch + 1
        self._end = found.valid_bytes
        self._names = ForeignLine(custom_title=found.title, tag=found.tag)
        self._chain = Chain(found.records)
        self._names_end = 0  # unknown for what was there before
        self._in_flight = b""
        self._failure: JournalError | None = None
        self._syncing = anyio.Lock()
        self._synced_end = -1  # a new file's folder entry needs a sync too
        self._unsynced_side_files: list[Path] = []

    @property
    def title(self) -> str:
        """What the user or another program named the session; empty if nobody did."""
        return self._names.custom_title or ""

    @property
    def tag(self) -> str:
        return self._names.tag or ""

    # -------------------------------------------------------------------------------------------- records

    def write(self, record: Record) -> None:
        """Append the record. Raises JournalError; then the session must stop."""
        self._require_sound()
        self._meet_others()
        self._append(self._sealed(record))
        self._seq += 1
        self._chain.follow(record)

    def claim(self) -> None:
        """Mark the file as this writer's: a process that held it before can append no more. Raises JournalError."""
        self._require_sound()
        self._meet_others()
        self._append(encode_line(None, self._envelope(), None))
        self._seq += 1

    def rename(self, title: str) -> None:
        """Give the session a title, in the form that other programs use. Raises JournalError."""
        self._write_name({"type": "custom-title", "customTitle": title, "sessionId": self.session_id})

    def set_tag(self, tag: str) -> None:
        """Tag the session; empty clears the tag. Raises JournalError."""
        self._write_name({"type": "tag", "tag": tag, "sessionId": self.session_id})

    async def sync(self) -> None:
        """Everything written so far survives the machine; concurrent callers share one sync. Raises JournalError."""
        end = self._end
        async with self._syncing:
            self._require_sound()
            if self._synced_end >= end:
                return
            end, side = self._end, self._unsynced_side_files
            self._unsynced_side_files = []
            before = [*side, *({path.parent for path in side})]
            after = [self.path.parent] if self._synced_end < 0 else []
            try:
                await anyio.to_thread.run_sync(self._sync_files, before, after)
            except OSError as error:
                raise self._poisoned("sync", error) from error
            self._synced_end = end

    def close(self) -> None:
        """Give the file free; what was written stays. Later writes raise JournalError."""
        if self._fd < 0:
            return
        self._restate_names()
        os.close(self._fd)
        self._fd = -1
        self._failure = self._failure or JournalError(f"the session file `{self.path}` is closed")

    def _restate_names(self) -> None:
        """Listings look for title and tag in the first and last 64 KiB only."""
        if self._failure is not None or self._end - self._names_end < side_files.MAX_LINE_BYTES:
            return
        title, tag = self.title, self.tag
        try:
            if title:
                self.rename(title)
            if tag:
                self.set_tag(tag)
        except JournalError:
            return  # every record is kept; only a listing shows the first prompt instead of the title

    # -------------------------------------------------------------------------------------------- how

    def _envelope(self, stored: str = "") -> Envelope:
        stamp = self._now().astimezone(UTC).isoformat(timespec="milliseconds")
        return Envelope(
            FORMAT,
            self._seq + 1,
            self._epoch,
            self.session_id,
            f"{stamp[:-6]}Z",
            self._cwd,
            stored,
        )

    def _sealed(self, record: Record) -> bytes:
        try:
            line = encode_line(record, self._envelope(), self._chain.last)
            if len(line) <= side_files.MAX_LINE_BYTES:
                return line
            whole = encode(record)
        except (TypeError, ValueError, RecursionError) as error:
            raise self._poisoned("encode a record for", error) from error
        try:
            digest = side_files.store(self.path, whole)
        except OSError as error:
            raise self._poisoned("write beside", error) from error
        self._unsynced_side_files.append(side_files.side_folder(self.path) / f"{digest}.json")
        return encode_line(side_files.preview(record), self._envelope(digest), self._chain.last)

    def _append(self, data: bytes) -> None:
        self._in_flight = data
        written = 0
        try:
            while written < len(data):
                count = self._disk.write(self._fd, data[written:])
                if count <= 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                written += count
        except OSError as error:
            self._cut_back(written)
            raise self._poisoned("write", error) from error
        self._end += len(data)
        self._in_flight = b""

    def _cut_back(self, written: int) -> None:
        """Take half a line away again, unless somebody appended behind it; then the reader leaves it out."""
        try:
            if written and os.fstat(self._fd).st_size == self._end + written:
                self._disk.truncate(self._fd, self._end)
        except OSError:
            return  # the reader copes with a torn tail; the error that counts is the first

    def _meet_others(self) -> None:
        """Take in what other programs appended since; refuse if the file is not ours any more."""
        try:
            status = os.fstat(self._fd)
            if status.st_size == self._end and status.st_nlink:
                return
            if not status.st_nlink or status.st_size < self._end:
                raise self._poisoned("write", None, why="it was deleted or cut by another program")
            added = os.pread(self._fd, status.st_size - self._end, self._end)
        except OSError as error:
            raise self._poisoned("read", error) from error
        for line in added.removesuffix(b"\n").split(b"\n"):
            if line + b"\n" == self._in_flight:
                self._seq += 1  # our own: an interrupt came between the write and the count of it
            else:
                self._take_in(decode_line(line))
        self._end += len(added)
        if not added.endswith(b"\n"):
            self._append(b"\n")

    def _take_in(self, line: SealedLine | ForeignLine | BrokenLine) -> None:
        match line:
            case SealedLine():
                raise self._poisoned("write", None, why="another process has taken the session over")
            case ForeignLine():
                self._names = renamed(self._names, line)
                self._names_end = self._end
            case BrokenLine():
                pass  # the reader leaves it out, because our next record follows without a gap

    def _write_name(self, line: dict[str, str]) -> None:
        self._require_sound()
        self._meet_others()
        data = encode(line)
        self._append(data + b"\n")
        self._take_in(decode_line(data))

    def _sync_files(self, before: list[Path], after: list[Path]) -> None:
        for path in before:
            _sync_path(path)
        self._disk.sync(self._fd)
        for path in after:
            _sync_path(path)

    def _require_sound(self) -> None:
        if self._failure is not None:
            raise JournalError(self._failure.message, hint=self._failure.hint) from self._failure

    def _poisoned(self, attempt: str, error: Exception | None, why: str = "") -> JournalError:
        reason = why or (error.strerror if isinstance(error, OSError) else "") or str(error)
        self._failure = JournalError(
            f"cannot {attempt} the session file `{self.path}`: {reason}", hint=_POISONED_HINT
        )
        return self._failure


def _sync_path(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def lock(fd: int, path: Path) -> None:
    """Hold the file for one writer until `fd` is closed or the process ends. Raises JournalError if somebody has it.

    File systems without locks are left to the writer's own look before each write.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise JournalError(
            f"the session file `{path}` is in use by another process",
            hint="fork the session to go on from a copy, or resume it when the other process has ended",
        ) from error
    except OSError:
        return

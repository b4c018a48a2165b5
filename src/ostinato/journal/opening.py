"""Opening a session file for its one writer: lock, read, put damage aside, and only then append."""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ostinato.errors import JournalError
from ostinato.journal import side_files
from ostinato.journal.append_file import AppendFile, lock
from ostinato.journal.disk import Disk
from ostinato.journal.read import BadTail, Scan, move_aside, scan
from ostinato.journal.write import SessionWriter


class OpenedSession(msgspec.Struct, frozen=True):
    """A session that goes on: what it held, and where its next record goes."""

    writer: SessionWriter
    found: Scan


def create_session(
    path: Path, *, session_id: str, cwd: str, now: Callable[[], datetime], disk: Disk | None = None
) -> SessionWriter:
    """A new session file and its folders, readable by the user alone. Raises OSError, or JournalError if it exists."""
    _make_folders(path.parent)
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        lock(fd, path)
        if os.fstat(fd).st_size:  # an empty file is left by a process that was killed before its first record
            raise JournalError(
                f"the session file `{path}` exists already", hint="resume the session, or choose another id"
            )
    except JournalError:
        os.close(fd)
        raise
    file = AppendFile(fd, path, end=0, disk=disk or Disk())
    return SessionWriter(file, Scan(), session_id=session_id, cwd=cwd, now=now)


def reopen_session(path: Path, *, now: Callable[[], datetime], disk: Disk | None = None) -> OpenedSession:
    """The session in the file, and its writer. A bad tail is moved aside (`found.bad_tail.moved_to`) and cut off.

    Raises JournalError if the file is in use, holds no session of ours, or cannot be written.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError as error:
        raise JournalError(f"cannot open the session file `{path}`: {error.strerror}") from error
    try:
        return _opened(fd, path, now, disk or Disk())
    except OSError as error:
        os.close(fd)
        raise JournalError(f"cannot repair the session file `{path}`: {error.strerror}") from error
    except JournalError:
        os.close(fd)
        raise


def _opened(fd: int, path: Path, now: Callable[[], datetime], disk: Disk) -> OpenedSession:
    lock(fd, path)
    found = _repaired(fd, path)
    file = AppendFile(fd, path, end=found.valid_bytes, disk=disk)
    writer = SessionWriter(file, found, session_id=found.session_id or path.stem, cwd=found.cwd, now=now)
    writer.claim()
    if found.bad_tail is not None:
        writer.restate_names()  # a name may have stood in the tail that was cut off
    return OpenedSession(writer, found)


def _repaired(fd: int, path: Path) -> Scan:
    with open(fd, "rb", closefd=False) as file:
        data = file.read()
    found = scan(data, lambda digest: side_files.load(path, digest))
    tail = found.bad_tail
    if found.last_seq == 0 and b"\n" in data:
        reason = tail.reason if tail else "it holds no record"
        raise JournalError(
            f"`{path}` is not a session that can be resumed: {reason}",
            hint="the file is left as it is; start a new session",
        )
    if tail is not None:
        return _without_tail(fd, path, found, tail)
    if data and not data.endswith(b"\n"):  # a whole line that lost only its end
        os.write(fd, b"\n")
        return replace(found, valid_bytes=len(data) + 1)
    return found


def _without_tail(fd: int, path: Path, found: Scan, tail: BadTail) -> Scan:
    moved_to = move_aside(path, tail)
    os.ftruncate(fd, tail.offset)
    return replace(found, bad_tail=replace(tail, moved_to=moved_to))


def _make_folders(folder: Path) -> None:
    """Create the folder and its missing parents, each for the user alone."""
    if os.path.isdir(folder):
        return
    missing = [folder, *folder.parents]
    for parent in reversed([part for part in missing if not os.path.exists(part)]):
        parent.mkdir(mode=0o700, exist_ok=True)

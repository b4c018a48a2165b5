"""Reading and replacing one regular file, synchronously: never blocked by a FIFO, never half written, no update lost.

Paths are taken as resolved: a link put on the way since is refused, not followed.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import Final

from ostinato.sandbox.advisory_lock import locked_folder
from ostinato.sandbox.draft import put_new, put_over
from ostinato.sandbox.forgotten_drafts import remove_forgotten_drafts
from ostinato.sandbox.opened_folder import opened_folder
from ostinato.sandbox.regular_file import (
    Expected,
    Place,
    content_hash,
    read_open_file,
    require_regular,
    stale,
    turned_up,
    write_all,
)

NOT_REPLACEABLE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS})
"""The folder forbids new names, the file is a mount point, or somebody else's: an existing file is then written in place."""


def read_regular_file(path: Path, offset: int = 0, max_bytes: int | None = None) -> bytes:
    """Bytes of a regular file; see `LocalWorkspace.read_bytes`."""
    with opened_folder(path.parent) as folder:
        descriptor = Place(path, folder).open(os.O_RDONLY)
    try:
        return read_open_file(descriptor, offset, max_bytes)
    finally:
        os.close(descriptor)


def replace_regular_file(
    path: Path,
    data: bytes,
    expected: str | None = None,
    before: bytes | None = None,
    data_hash: str | None = None,
) -> str:
    """New content for a file; see `LocalWorkspace.replace_file`."""
    try:
        with opened_folder(path.parent, create=not expected) as folder:
            _put(Place(path, folder), data, expected, before)
    except FileNotFoundError as error:
        if expected:
            raise stale(path) from error
        raise
    return data_hash or content_hash(data)


def _put(place: Place, data: bytes, expected: str | None, before: bytes | None) -> None:
    remove_forgotten_drafts(place.folder)
    if expected == "":
        _make(place, data)
    else:
        _replace(place, data, None if expected is None else Expected(expected, before))


def _make(place: Place, data: bytes) -> None:
    try:
        require_regular(place.facts(), place.path)
    except FileNotFoundError:
        put_new(place, data)
        return
    raise turned_up(place.path)


def _replace(place: Place, data: bytes, expected: Expected | None) -> None:
    try:
        before = place.facts()
    except FileNotFoundError:
        if expected is not None:
            raise
        put_new(place, data)
        return
    require_regular(before, place.path)
    as_who = os.access in os.supports_effective_ids
    if not os.access(place.name, os.W_OK, dir_fd=place.folder, effective_ids=as_who):
        # a rename would succeed; whoever took the write permission away did not mean that
        raise PermissionError(errno.EACCES, "the file is read-only", str(place.path))
    try:
        if before.st_nlink == 1:
            put_over(place, data, expected)
            return
    except OSError as error:
        if error.errno not in NOT_REPLACEABLE:
            raise
    with locked_folder(place.folder):
        _write_in_place(place, data, expected)


def _write_in_place(place: Place, data: bytes, expected: Expected | None) -> None:
    descriptor = place.open(os.O_WRONLY if expected is None else os.O_RDWR)
    try:
        if expected is not None and not expected.is_in(descriptor):
            raise stale(place.path)
        before = None if expected is None else expected.data or read_open_file(descriptor, 0, None)
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            write_all(descriptor, data)
            os.ftruncate(descriptor, len(data))
            os.fsync(descriptor)
        except OSError:
            if before is not None:
                _put_back(descriptor, before)
            raise
    finally:
        os.close(descriptor)


def _put_back(descriptor: int, before: bytes) -> None:
    """A full disk, or a limit of size, ended the writing: the room that the old content had is still there."""
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, len(before))
        os.lseek(descriptor, 0, os.SEEK_SET)
        write_all(descriptor, before)
        os.fsync(descriptor)

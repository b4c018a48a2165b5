"""Changing a small shared file: one process at a time, the whole new content or the old one, never something in between.

The lock is on the folder, so that no lock file is left beside it; a file system without locks still swaps whole files.
"""

import contextlib
import errno
import fcntl
import os
import stat
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Final

_NO_LOCKS: Final = frozenset({errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


@contextlib.contextmanager
def locked_folder(folder: Path) -> Generator[None]:
    """Hold `folder` against other processes that do the same; waits for them. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(descriptor)


def swap_in(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Put `content` in the place of `path`. It gets exactly the permissions `mode`; None keeps those of the file, or
    takes the process's own for a new one. Raises OSError, and then the old content stands.
    """
    permissions = _permissions_of(path) if mode is None else mode
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    descriptor = os.open(new, _NEW, 0o666 if mode is None else mode)
    try:
        _fill(descriptor, content, permissions)
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def _permissions_of(path: Path) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return None


def _fill(descriptor: int, content: bytes, permissions: int | None) -> None:
    """Write, force to disk and close."""
    try:
        if permissions is not None:
            os.fchmod(descriptor, permissions)
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

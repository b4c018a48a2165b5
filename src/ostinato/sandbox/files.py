"""Reading and replacing one regular file, synchronously: never blocked by a FIFO, never half written.

What is checked before opening is checked again on the open descriptor, so that a swap in between changes nothing.
"""

import contextlib
import errno
import hashlib
import os
import stat
import uuid
from pathlib import Path
from typing import Final

from ostinato.errors import StaleFile, UsageError

READ_BYTES: Final = 1 << 20

SAFE_OPEN: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
"""For a resolved path: a symlink put there since is refused, and a FIFO put there since does not block."""

NOT_REPLACEABLE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS})
"""The folder forbids new names, or the file is a mount point: an existing file is then written in place."""


def content_hash(data: bytes) -> str:
    """SHA-256 of `data`, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def read_regular_file(path: Path, offset: int = 0, max_bytes: int | None = None) -> bytes:
    """Bytes of a regular file; see `LocalWorkspace.read_bytes`."""
    target = Path(os.path.realpath(path))
    _require_regular(os.stat(target), path)
    descriptor = _open_regular(target, os.O_RDONLY)
    try:
        return _read(descriptor, offset, max_bytes)
    finally:
        os.close(descriptor)


def replace_regular_file(path: Path, data: bytes, expected: str | None = None) -> str:
    """New content for a file; see `LocalWorkspace.replace_file`."""
    target = Path(os.path.realpath(path))
    before = _stat_or_none(target)
    if before is None:
        if expected is not None:
            raise _stale(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        _swap_in(target, data, None, None)
        return content_hash(data)
    _require_regular(before, path)
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        # a rename would succeed; whoever took the write permission away did not mean that
        raise PermissionError(errno.EACCES, "the file is read-only", str(path))
    if before.st_nlink > 1:
        _write_in_place(target, data, expected)
        return content_hash(data)
    try:
        _swap_in(target, data, before, expected)
    except OSError as error:
        if error.errno not in NOT_REPLACEABLE:
            raise
        _write_in_place(target, data, expected)
    return content_hash(data)


def _swap_in(target: Path, data: bytes, before: os.stat_result | None, expected: str | None) -> None:
    """Write a new file beside `target`, then rename it over; nothing of it is left when anything fails."""
    draft = target.with_name(f".ostinato-{uuid.uuid4().hex}.tmp")
    # A replacement is private until it has its owner and mode: it may be going to hold a secret.
    descriptor, is_named = _open_draft(draft, 0o666 if before is None else 0o600)
    try:
        _write_all(descriptor, data)
        if before is not None:
            _copy_identity(target, before, descriptor)
        os.fsync(descriptor)
        _put_in_place(draft, target, None if is_named else descriptor, expected)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    finally:
        os.close(descriptor)
    _sync_folder(target.parent)


def _put_in_place(draft: Path, target: Path, nameless: int | None, expected: str | None) -> None:
    """The last look and the rename; between the two there is nothing to wait for."""
    if nameless is not None:
        # Any folder descriptor makes Python use `linkat`, which alone follows the link; the absolute path ignores it.
        os.link(f"/proc/self/fd/{nameless}", draft, src_dir_fd=nameless, follow_symlinks=True)
    if expected is not None:
        _require_hash(target, expected)
    os.replace(draft, target)


def _open_draft(draft: Path, mode: int) -> tuple[int, bool]:
    """A new file in the draft's folder, without a name where the system can: then a crash leaves nothing behind."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        try:
            return os.open(draft.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode), False
        except OSError as error:
            if error.errno not in {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}:
                raise
    return os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), True


def _write_in_place(target: Path, data: bytes, expected: str | None) -> None:
    descriptor = _open_regular(target, os.O_RDWR if expected is not None else os.O_WRONLY)
    try:
        if expected is not None and content_hash(_read(descriptor, 0, None)) != expected:
            raise _stale(target)
        os.lseek(descriptor, 0, os.SEEK_SET)
        _write_all(descriptor, data)
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_identity(source: Path, facts: os.stat_result, descriptor: int) -> None:
    """Owner, mode and extended attributes, as far as we may; the owner first, since changing it clears setuid."""
    with contextlib.suppress(PermissionError):
        os.fchown(descriptor, facts.st_uid, facts.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(facts.st_mode))
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(source):
                with contextlib.suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(source, name))


def _require_hash(target: Path, expected: str) -> None:
    try:
        content = read_regular_file(target)
    except FileNotFoundError as error:
        raise _stale(target) from error
    if content_hash(content) != expected:
        raise _stale(target)


def _stale(path: Path) -> StaleFile:
    return StaleFile(f"`{path}` is not what was read before", hint="read it again, then repeat the change")


def _stat_or_none(target: Path) -> os.stat_result | None:
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


def _open_regular(target: Path, flags: int) -> int:
    descriptor = os.open(target, flags | SAFE_OPEN)
    try:
        _require_regular(os.fstat(descriptor), target)
    except UsageError:
        os.close(descriptor)
        raise
    return descriptor


def _require_regular(facts: os.stat_result, path: Path) -> None:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    if not stat.S_ISREG(facts.st_mode):
        kind = kinds.get(stat.S_IFMT(facts.st_mode), "something else")
        raise UsageError(f"`{path}` is {kind}, not a regular file", hint="use Bash for what is not a file")


def _read(descriptor: int, offset: int, max_bytes: int | None) -> bytes:
    chunks: list[bytes] = []
    position, left = offset, max_bytes
    while left is None or left > 0:
        chunk = os.pread(descriptor, READ_BYTES if left is None else min(READ_BYTES, left), position)
        if not chunk:
            break
        chunks.append(chunk)
        position += len(chunk)
        left = None if left is None else left - len(chunk)
    return b"".join(chunks)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable; some file systems cannot, and the content is there all the same."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

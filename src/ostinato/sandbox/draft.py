"""A finished file put in the place of another, or of none, in one step; nobody else's content is lost by it.

Where names can be exchanged, what was replaced is looked at once more afterwards, and given back if it is not what was
expected. Elsewhere the last look comes right before the rename.
"""

import contextlib
import errno
import os
import stat
import time
import uuid
from collections.abc import Callable
from typing import Final

from ostinato.sandbox.advisory_lock import locked_folder
from ostinato.sandbox.exchange import exchange
from ostinato.sandbox.forgotten_drafts import hold_draft
from ostinato.sandbox.regular_file import Expected, Place, stale, turned_up, write_all

NO_NAMELESS_FILES: Final = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL})
NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})

RECENT_NS: Final = 2_000_000_000
"""A file changed so lately may change again and keep its time: the clocks of some file systems tick as slowly as this."""

ExchangeNames = Callable[[int, str, str], bool]


class Draft:
    """A new file in the folder of `place`, without a name where the system can: then a crash hardly ever leaves anything behind."""

    def __init__(self, place: Place, mode: int) -> None:
        self.name = f".ostinato-{uuid.uuid4().hex}.tmp"
        self._folder = place.folder
        self._is_named = False
        self.descriptor = self._open(mode)
        hold_draft(self.descriptor)

    def _open(self, mode: int) -> int:
        if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
            try:
                flags = os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC
                return os.open(".", flags, mode, dir_fd=self._folder)
            except OSError as error:
                if error.errno not in NO_NAMELESS_FILES:
                    raise
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.name, flags, mode, dir_fd=self._folder)
        self._is_named = True
        return descriptor

    def become(self, name: str) -> None:
        """Take a name that nobody has. Raises FileExistsError."""
        if not self._is_named:
            # Any folder descriptor makes Python use `linkat`, which alone follows this link; its absolute path ignores it.
            source = f"/proc/self/fd/{self.descriptor}"
            os.link(source, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            return
        try:
            os.link(self.name, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            self._become_by_rename(name)

    def _become_by_rename(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.stat(name, dir_fd=self._folder, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
        self.rename_over(name)

    def rename_over(self, name: str) -> None:
        """Take a name from whoever has it."""
        self.take_own_name()
        os.replace(self.name, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._is_named = False

    def take_own_name(self) -> None:
        if not self._is_named:
            self.become(self.name)
            self._is_named = True

    def is_under_own_name(self) -> bool:
        """Whether the own name leads to this very file."""
        there = os.stat(self.name, dir_fd=self._folder, follow_symlinks=False)
        return os.path.samestat(there, os.fstat(self.descriptor))

    def close(self) -> None:
        """Whatever is under the draft's own name goes."""
        os.close(self.descriptor)
        if self._is_named:
            with contextlib.suppress(OSError):
                os.unlink(self.name, dir_fd=self._folder)


def put_new(place: Place, data: bytes) -> None:
    """Make a file. Raises StaleFile if somebody else made it meanwhile."""
    draft = Draft(place, 0o666)
    try:
        write_all(draft.descriptor, data)
        os.fsync(draft.descriptor)
        draft.become(place.name)
    except FileExistsError as error:
        raise turned_up(place.path) from error
    finally:
        draft.close()
    _sync(place.folder)


def put_over(place: Place, data: bytes, expected: Expected | None) -> None:
    """Replace a file. Raises StaleFile, with nothing changed, if its content is not what is `expected`; PermissionError where the new
    file could not be its owner's.
    """
    theirs = place.open(os.O_RDONLY)
    try:
        # A replacement is private until it has its owner and mode: it may be going to hold a secret.
        draft = Draft(place, 0o600)
        try:
            write_all(draft.descriptor, data)
            _copy_identity(theirs, draft.descriptor)
            os.fsync(draft.descriptor)
            if expected is None:
                draft.rename_over(place.name)
            else:
                with locked_folder(place.folder):
                    put_over_checked(place, draft, theirs, expected)
        finally:
            draft.close()
    finally:
        os.close(theirs)
    _sync(place.folder)


def put_over_checked(
    place: Place, draft: Draft, theirs: int, expected: Expected, *, swap: ExchangeNames = exchange
) -> None:
    """Let a finished draft replace the file open as `theirs`. Raises StaleFile, and FileNotFoundError when it is gone."""
    facts = os.fstat(theirs)
    if not expected.is_in(theirs):
        raise stale(place.path)
    draft.take_own_name()
    if not swap(place.folder, draft.name, place.name):
        draft.rename_over(place.name)
        return
    if _is_what_it_was(
        os.stat(draft.name, dir_fd=place.folder, follow_symlinks=False), facts, theirs, expected
    ):
        return
    swap(place.folder, draft.name, place.name)
    if not draft.is_under_own_name():
        # A third writer replaced ours meanwhile: theirs is the newest.
        swap(place.folder, draft.name, place.name)
    raise stale(place.path)


def _is_what_it_was(now: os.stat_result, before: os.stat_result, descriptor: int, expected: Expected) -> bool:
    if not os.path.samestat(now, before):
        return False
    if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns) or (
        time.time_ns() - now.st_mtime_ns < RECENT_NS
    ):
        return expected.is_in(descriptor)
    return True


def _copy_identity(source: int, target: int) -> None:
    """Owner, mode and, as far as we may, extended attributes; the owner first, since changing it clears setuid.

    Raises PermissionError where the file cannot be given to its owner or group: it would be lost to them.
    """
    facts, ours = os.fstat(source), os.fstat(target)
    if (facts.st_uid, facts.st_gid) != (ours.st_uid, ours.st_gid):
        os.fchown(target, facts.st_uid, facts.st_gid)
    os.fchmod(target, stat.S_IMODE(facts.st_mode))
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(source):
                with contextlib.suppress(OSError):
                    os.setxattr(target, name, os.getxattr(source, name))


def _sync(folder: int) -> None:
    """Make the new name itself durable; some file systems cannot, and the content is there all the same."""
    with contextlib.suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

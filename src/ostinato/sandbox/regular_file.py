"""One regular file by its name in an open folder: looked at before it is opened, and again on the open descriptor.

So a FIFO never blocks, a device is never touched, and a link put there since is not followed.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ostinato.errors import StaleFile, UsageError
from ostinato.sandbox.opened_folder import link_on_the_way

READ_BYTES: Final = 1 << 20
HASHED_BYTES: Final = 1 << 18
"""A piece that stays in the processor's cache, and in one place of memory."""

SAFE_OPEN: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
"""A symlink put there since is refused, and a FIFO put there since does not block."""

KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A name in the folder behind the descriptor `folder`; `path` is for messages."""

    path: Path
    folder: int

    @property
    def name(self) -> str:
        return self.path.name

    def facts(self) -> os.stat_result:
        """Of the name itself, a link not followed. Raises OSError."""
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def open(self, flags: int) -> int:
        """A descriptor of the regular file. Raises UsageError for anything else, OSError as the system gives it."""
        require_regular(self.facts(), self.path)
        descriptor = os.open(self.name, flags | SAFE_OPEN, dir_fd=self.folder)
        try:
            require_regular(os.fstat(descriptor), self.path)
        except UsageError:
            os.close(descriptor)
            raise
        return descriptor


def require_regular(facts: os.stat_result, path: Path) -> None:
    """Raises UsageError that says what `path` is instead."""
    if stat.S_ISLNK(facts.st_mode):
        raise link_on_the_way(path)
    if not stat.S_ISREG(facts.st_mode):
        kind = KINDS.get(stat.S_IFMT(facts.st_mode), "something else")
        raise UsageError(f"`{path}` is {kind}, not a regular file", hint="use Bash for what is not a file")


def content_hash(data: bytes) -> str:
    """SHA-256 of `data`, hexadecimal."""
    import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

    return hashlib.sha256(data).hexdigest()


def hash_of_open_file(descriptor: int) -> str:
    """SHA-256 of all its bytes, in bounded memory."""
    import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

    so_far, position = hashlib.sha256(), 0
    piece = memoryview(bytearray(HASHED_BYTES))
    while count := os.preadv(descriptor, [piece], position):
        so_far.update(piece[:count])
        position += count
    return so_far.hexdigest()


@dataclass(frozen=True, slots=True)
class Expected:
    """What a file must hold: bytes with this hash, and the bytes themselves if somebody still has them."""

    content_hash: str
    data: bytes | None = None

    def is_in(self, descriptor: int) -> bool:
        """Whether an open file holds them, in bounded memory."""
        if self.data is None:
            return hash_of_open_file(descriptor) == self.content_hash
        if os.fstat(descriptor).st_size != len(self.data):
            return False
        position = 0
        while piece := os.pread(descriptor, HASHED_BYTES, position):
            # Slices, not views: only bytes are compared at the speed of memory.
            if piece != self.data[position : position + len(piece)]:
                return False
            position += len(piece)
        return position == len(self.data)


def read_open_file(descriptor: int, offset: int, max_bytes: int | None) -> bytes:
    """At most `max_bytes` from `offset`, to the end without a limit."""
    known = os.fstat(descriptor).st_size - offset
    if known > 0 and (max_bytes is None or known < max_bytes):
        # Most files are read in one piece; one byte more shows that there is no more.
        whole = os.pread(descriptor, known + 1, offset)
        if len(whole) == known:
            return whole
    chunks: list[bytes] = []
    position, left = offset, max_bytes
    while left is None or left > 0:
        chunk = os.pread(descriptor, READ_BYTES if left is None else min(READ_BYTES, left), position)
        if not chunk:
            break
        chunks.append(chunk)
        position += len(chunk)
        left = None if left is None else left - len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def stale(path: Path) -> StaleFile:
    return StaleFile(f"`{path}` is not what was read before", hint="read it again, then repeat the change")


def turned_up(path: Path) -> StaleFile:
    return StaleFile(f"`{path}` exists by now", hint="read it, then repeat the change")

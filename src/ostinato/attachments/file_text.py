"""Reading a small text file that nobody vouches for: never blocked, never more than asked for, never an exception."""

import codecs
import os
import re
import stat
from pathlib import Path
from typing import Final

import msgspec

SNIFFED_BYTES: Final = 8192
"""A NUL among the first 8 KiB means binary: the rule of git and of most search tools."""

BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""UTF-32 stands before UTF-16: its little-endian mark begins with the other's."""

CHUNK_BYTES: Final = 1 << 20
PROPER_CHARACTER: Final = re.compile(r"[^\x00-\x7f\udc80-\udcff]")
SAFE_OPEN: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
"""For a resolved path: a symlink put there since is refused, and a FIFO put there since does not block."""

KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class FileText(msgspec.Struct, frozen=True):
    """The text of a whole file with `\\n` line ends, and who owns it."""

    text: str
    size_bytes: int
    owner: int


class FileBytes(msgspec.Struct, frozen=True):
    """All bytes of a file, and what the system said of the open file."""

    data: bytes
    facts: os.stat_result


class NotRead(msgspec.Struct, frozen=True):
    """Why a file was not read. `is_absent`: there is none, or no regular one; `is_too_large`: it has more bytes than were allowed."""

    reason: str
    is_absent: bool = False
    is_too_large: bool = False


def read_file_text(path: Path, *, max_bytes: int) -> FileText | NotRead:
    """Read a regular text file of at most `max_bytes` at a resolved path; what is wrong with it comes back as a value."""
    read = read_file_bytes(path, max_bytes=max_bytes)
    if isinstance(read, NotRead):
        return read
    text = decoded(read.data)
    return NotRead("it is not text") if text is None else FileText(text, len(read.data), read.facts.st_uid)


def read_file_bytes(path: Path, *, max_bytes: int) -> FileBytes | NotRead:
    """The same for bytes of any kind."""
    try:
        kind = not_regular(os.stat(path))
        if kind is not None:
            return NotRead(f"it is {kind}, not a regular file", is_absent=True)
        descriptor = os.open(path, SAFE_OPEN)
    except (FileNotFoundError, NotADirectoryError):
        return NotRead("it does not exist", is_absent=True)
    except (OSError, ValueError) as error:
        return NotRead(why(error))
    try:
        return _read(descriptor, max_bytes)
    except OSError as error:
        return NotRead(why(error))
    finally:
        os.close(descriptor)


def _read(descriptor: int, max_bytes: int) -> FileBytes | NotRead:
    facts = os.fstat(descriptor)
    kind = not_regular(facts)
    if kind is not None:
        return NotRead(f"it is {kind}, not a regular file", is_absent=True)
    chunks, left = list[bytes](), max_bytes + 1
    while left and (chunk := os.read(descriptor, min(left, CHUNK_BYTES))):
        chunks.append(chunk)
        left -= len(chunk)
    if not left:
        return NotRead(f"it is larger than {max_bytes} bytes", is_too_large=True)
    return FileBytes(b"".join(chunks), facts)


def not_regular(facts: os.stat_result) -> str | None:
    """What a path leads to that is no regular file, or None."""
    if stat.S_ISREG(facts.st_mode):
        return None
    return KINDS.get(stat.S_IFMT(facts.st_mode), "something else")


def why(error: OSError | ValueError) -> str:
    """The system's reason in words."""
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)


def decoded(data: bytes) -> str | None:
    """Text with `\\n` line ends, or None for binary data.

    A byte order mark decides; else UTF-8, with U+FFFD for stray bytes if anything beyond ASCII in it is valid; else
    Windows-1252.
    """
    text = _decoded(data)
    return None if text is None else text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes) -> str | None:
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if b"\0" in data[:SNIFFED_BYTES]:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        is_utf_8 = PROPER_CHARACTER.search(data.decode("utf-8", "surrogateescape")) is not None
        return data.decode("utf-8" if is_utf_8 else "cp1252", "replace")

"""What a path leads to, found before anything is opened: only regular files are read, and a wrong path is answered with a guess."""

import contextlib
import os
import stat
from itertools import islice
from pathlib import Path
from typing import Final

BINARY_SIGNATURES: Final = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive or office document"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"),
    (b"\xfd7zXZ\x00", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"\x7fELF", "an ELF program or library"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or Mach-O library"),
    (b"\0asm", "a WebAssembly module"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
"""First bytes of what is no text though it may hold no NUL early on."""

KERNEL_VIEWS: Final = ("/proc", "/sys")

SNIFFED_BYTES: Final = 8192
"""A NUL among the first 8 KiB means binary: the rule of git and of most search tools."""

MAX_NEIGHBOURS: Final = 2000
"""At most this many names of a folder are compared for a guess."""


def not_a_file(path: Path) -> str | None:
    """Why `path` is no regular file that exists, or None. Follows links, opens nothing, so a FIFO cannot block it."""
    try:
        facts = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return f"`{path}` does not exist{_guess(path)}"
    except OSError as error:
        return f"`{path}` cannot be looked at: {error.strerror}"
    mode = facts.st_mode
    if _is_kernel_view(path, facts):
        return f"`{path}` is a view of the running system, not a file on disk; use a command"
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return f"`{path}` is a folder, not a file; use Glob or `ls` to list it"
    return f"`{path}` is {_special_kind(mode)}, not a regular file"


def is_kernel_view(path: Path) -> bool:
    """Whether a resolved path is in /proc or /sys: endless, blocking, or full of other processes' secrets."""
    with contextlib.suppress(OSError):
        return _is_kernel_view(path, path.stat())
    return False


def _is_kernel_view(path: Path, facts: os.stat_result) -> bool:
    if any(path.is_relative_to(folder) for folder in KERNEL_VIEWS):
        return True
    # Mounted elsewhere too, it is the same device.
    devices = {os.stat(folder).st_dev for folder in KERNEL_VIEWS if os.path.isdir(folder)}
    return facts.st_dev in devices - {os.stat("/").st_dev}


def _special_kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a FIFO (named pipe)"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _guess(path: Path) -> str:
    import difflib  # ruff: ignore[import-outside-top-level] - only a misspelled name needs it

    parent = path.parent
    if not os.path.isdir(parent):
        existing = next((folder for folder in parent.parents if os.path.isdir(folder)), None)
        return f", nor does its folder; `{existing}` is the nearest folder that exists" if existing else ""
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in islice(entries, MAX_NEIGHBOURS)]
    except OSError:
        return ""
    by_folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(path.name.casefold(), list(by_folded), n=3, cutoff=0.6)
    guesses = ", ".join(f"`{by_folded[name]}`" for name in close)
    return f"; did you mean {guesses} in the same folder?" if close else ""


def binary_kind(head: bytes, *, has_bom: bool) -> str | None:
    """What a file is that is no text, or None. `has_bom`: UTF-16 text holds NULs by nature."""
    for signature, kind in BINARY_SIGNATURES:
        if head.startswith(signature):
            return kind
    if not has_bom and b"\0" in head[:SNIFFED_BYTES]:
        return "binary data"
    return None

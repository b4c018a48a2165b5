"""What a path leads to, found before anything is opened: only regular files are read, and a wrong path is answered with a guess."""

import os
import stat
from itertools import islice
from pathlib import Path
from typing import Final

IMAGE_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""First bytes of the images that models take; WebP needs a second look."""

BINARY_SIGNATURES: Final = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive or office document"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\x00", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"\x7fELF", "an ELF program or library"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
"""First bytes of what is no text though it may hold no NUL early on."""

SNIFFED_BYTES: Final = 8192
"""A NUL among the first 8 KiB means binary: the rule of git and of most search tools."""

MAX_NEIGHBOURS: Final = 2000
"""At most this many names of a folder are compared for a guess."""


def not_a_file(path: Path) -> str | None:
    """Why `path` is no regular file that exists, or None. Follows links, opens nothing, so a FIFO cannot block it."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return f"`{path}` does not exist{_guess(path)}"
    except OSError as error:
        return f"`{path}` cannot be looked at: {error.strerror}"
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return f"`{path}` is a folder, not a file; use Glob or `ls` to list it"
    return f"`{path}` is {_special_kind(mode)}, not a regular file"


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


def image_type(head: bytes) -> str | None:
    """The media type if the file begins like an image that models take."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return next(
        (media_type for signature, media_type in IMAGE_SIGNATURES if head.startswith(signature)), None
    )


def binary_kind(head: bytes, *, has_bom: bool) -> str | None:
    """What a file is that is no text, or None. `has_bom`: UTF-16 text holds NULs by nature."""
    for signature, kind in BINARY_SIGNATURES:
        if head.startswith(signature):
            return kind
    if not has_bom and b"\0" in head[:SNIFFED_BYTES]:
        return "binary data"
    return None

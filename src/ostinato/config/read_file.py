"""The one reader of small files that somebody else may have put there: it never blocks, never follows a loop, never fails."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

from ostinato.config.settings_text import MAX_BYTES, Unreadable

_OPEN: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR})


def read_settings_file(path: Path, max_bytes: int = MAX_BYTES) -> bytes | Unreadable | None:
    """The content, at most `max_bytes` and one more; None if there is no such file. Links are followed."""
    try:
        descriptor = os.open(path, _OPEN)
    except OSError as error:
        return None if error.errno in _ABSENT and not os.path.islink(path) else _unreadable(error)
    except ValueError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return Unreadable("is not a regular file", "put a file there, or remove it")
        return _read(descriptor, max_bytes + 1)
    except OSError as error:
        return _unreadable(error)
    finally:
        os.close(descriptor)


def drop_ins(folder: Path) -> tuple[Path, ...] | Unreadable:
    """The `*.json` files of a folder, those that win first: later names win. Hidden ones are left out.

    What stands in the folder's place and is none, or cannot be listed, is not the same as no folder.
    """
    try:
        names = os.listdir(folder)
    except OSError as error:
        if error.errno in _ABSENT and not os.path.lexists(folder):
            return ()
        return (
            Unreadable("is no folder", "put a folder there, or remove it")
            if error.errno in _ABSENT
            else _unreadable(error)
        )
    except ValueError:
        return ()
    chosen = sorted(name for name in names if name.endswith(".json") and not name.startswith("."))
    return tuple(folder / name for name in reversed(chosen))


def _read(descriptor: int, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    left = max_bytes
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _unreadable(error: OSError) -> Unreadable:
    if error.errno == errno.ELOOP:
        return Unreadable("is a link that leads to itself", "remove the link")
    return Unreadable(f"cannot be read: {error.strerror or error}", "check its permissions")

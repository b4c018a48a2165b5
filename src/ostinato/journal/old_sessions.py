"""Removing sessions that nobody has used for a while, with all that lies beside them.

Promise: only our own sessions, never one that is open in any process, and nothing that a link leads to.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from ostinato.codec import SealedLine, decode_line
from ostinato.errors import JournalError
from ostinato.journal.append_file import lock

_OPEN: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
_FIRST_LINES: Final = 20
"""Other programs may have put a few lines of their own before our first."""

_MAX_DAYS: Final = 1_000_000
_MAX_LINE_BYTES: Final = 1 << 20


def remove_old_sessions(root: Path, *, days: int, now: datetime) -> tuple[Path, ...]:
    """Remove the sessions of all folders whose files were last written more than `days` days ago; returns their files.

    What cannot be removed is left, and tried again with the next start.
    """
    oldest_s = now.timestamp() - min(days, _MAX_DAYS) * 86_400
    return tuple(path for path in _session_files(root / "projects") if _is_removed(path, oldest_s))


def _session_files(projects: Path) -> Iterator[Path]:
    for folder in _folders(projects):
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
            yield from (folder / name for name in names if name.endswith(".jsonl"))


def _folders(projects: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(projects) as entries:
        yield from [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]


def _is_removed(path: Path, oldest_s: float) -> bool:
    try:
        if os.lstat(path).st_mtime >= oldest_s:
            return False
        descriptor = os.open(path, _OPEN)
    except OSError:
        return False
    try:
        lock(descriptor, path)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mtime >= oldest_s or not _is_ours(descriptor):
            return False
        _remove(path)
    except (JournalError, OSError):
        return False
    finally:
        os.close(descriptor)
    return True


def _is_ours(descriptor: int) -> bool:
    """Whether a line of ours stands among the first; the transcripts of other programs lie in such folders, too."""
    with open(descriptor, "rb", closefd=False) as file:
        lines = [file.readline(_MAX_LINE_BYTES) for _ in range(_FIRST_LINES)]
    return any(isinstance(decode_line(line.rstrip(b"\n")), SealedLine) for line in lines if line)


def _remove(path: Path) -> None:
    """What lies beside the session goes first: a session whose file is left can be removed again."""
    folder = path.with_suffix("")
    if stat.S_ISDIR(_mode(folder)):
        shutil.rmtree(folder)
    for name in os.listdir(path.parent):
        if name.startswith(f"{path.name}.bad-"):
            os.unlink(path.parent / name)
    os.unlink(path)


def _mode(path: Path) -> int:
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return 0

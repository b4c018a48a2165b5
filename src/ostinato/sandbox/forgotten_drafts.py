"""Drafts that a killed process left behind go with the next replacement in their folder; one that somebody works on stays.

Whoever works on a draft holds a lock on it, which ends with its process.
"""

import contextlib
import fcntl
import os
import re
import stat
from itertools import islice
from typing import Final

DRAFT_NAME: Final = re.compile(r"\.ostinato-[0-9a-f]{32}\.tmp")

MAX_ENTRIES: Final = 10_000
"""So many names of a folder are looked at: a few milliseconds."""


def hold_draft(descriptor: int) -> None:
    """Say that this draft is in work. Where there are no locks nothing is ever removed either."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_forgotten_drafts(folder: int) -> None:
    """Those in the folder behind the descriptor that nobody holds. Raises nothing.

    Not while one of our replacements there exchanges names: what is under a draft's name then is the file itself.
    """
    with contextlib.suppress(OSError):
        listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            with os.scandir(listed) as entries:
                names = [entry.name for entry in islice(entries, MAX_ENTRIES) if _is_draft(entry.name)]
            if names:
                fcntl.flock(listed, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for name in names:
                    _remove_unless_held(folder, name)
        finally:
            os.close(listed)


def _is_draft(name: str) -> bool:
    return name.startswith(".ostinato-") and DRAFT_NAME.fullmatch(name) is not None


def _remove_unless_held(folder: int, name: str) -> None:
    with contextlib.suppress(OSError):
        draft = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            fcntl.flock(draft, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if stat.S_ISREG(os.fstat(draft).st_mode):
                os.unlink(name, dir_fd=folder)
        finally:
            os.close(draft)

"""A lock that all of our own replacements in a folder take, in whatever process, so that they come one after another.

Programs that know nothing of it are not held up; where it cannot be had in time, or at all, the work goes on without it.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Generator
from threading import Event
from typing import Final

WAIT_S: Final = 5.0
"""Who holds it needs it for as long as a large file is hashed: well under a second."""

POLL_S: Final = 0.002


@contextlib.contextmanager
def locked_folder(folder: int) -> Generator[None]:
    """Hold the lock of the folder behind this descriptor. Blocks its thread for a moment."""
    try:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        yield
        return
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline_s:
                return
        except OSError:  # this file system has no locks
            return
        Event().wait(POLL_S)

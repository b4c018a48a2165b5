"""The few calls of Linux that make and enter a namespace; each acts on the calling thread alone.

Not in the standard library before Python 3.12 (`mount` in none). No user namespace is made: that would change rights on files.
"""

import ctypes
import os
from functools import cache
from typing import Final

CLONE_FS: Final = 0x200
CLONE_NEWNS: Final = 0x20000
CLONE_NEWPID: Final = 0x20000000
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x40000


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def own_folder_and_mask() -> None:
    """From here on the thread has a root, a working folder and a umask of its own: without that it can enter no mount namespace."""
    _check(_library().unshare(CLONE_FS), "unshare")


def new_mounts() -> None:
    """A copy of all mounts, where those under `/proc` are told to nobody else; mounts elsewhere are shared as they were."""
    _check(_library().unshare(CLONE_NEWNS), "unshare")
    _check(_library().mount(None, b"/proc", None, MS_REC | MS_PRIVATE, None), "mount --make-rprivate /proc")


def new_process_ids() -> None:
    """What the thread starts next is process 1 of a new pid namespace; the thread itself stays where it is."""
    _check(_library().unshare(CLONE_NEWPID), "unshare")


def enter_mounts(descriptor: int) -> None:
    """With the root of that namespace as root and working folder."""
    _check(_library().setns(descriptor, CLONE_NEWNS), "setns")


def enter_process_ids(descriptor: int) -> None:
    """For what the thread starts from now on."""
    _check(_library().setns(descriptor, CLONE_NEWPID), "setns")


def _check(result: object, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")

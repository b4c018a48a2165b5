"""What the system says of this process: its rights, and what its children inherit from a single thread of it."""

import contextlib
import os
import sys
from typing import Final

import msgspec

CAPABILITIES: Final = {"CAP_SYS_CHROOT": 18, "CAP_SYS_ADMIN": 21}


def lacking_right() -> str:
    """What this process lacks for it, "" if nothing does: cheap, and no promise (a filter of calls may still refuse)."""
    if sys.platform != "linux":
        return "there are no pid namespaces on this system"
    rights = int(_status("CapEff") or "0", 16)
    missing = [name for name, bit in CAPABILITIES.items() if not rights >> bit & 1]
    return f"this user lacks {' and '.join(missing)}" if missing else ""


class Standing(msgspec.Struct, frozen=True):
    """What Linux keeps for each thread by itself and children inherit from theirs: `cores` are those it may run on."""

    umask: int
    niceness: int
    cores: frozenset[int]


def standing_now() -> Standing:
    """Of the calling thread. The umask is that of the whole process: asking the usual way means to change it for a moment."""
    cores = frozenset(os.sched_getaffinity(0)) if sys.platform == "linux" else frozenset[int]()
    return Standing(int(_status("Umask") or "022", 8), os.getpriority(os.PRIO_PROCESS, 0), cores)


def take_on(standing: Standing) -> None:
    """In a thread that has a umask of its own. What it may not take on it does without."""
    os.umask(standing.umask)
    with contextlib.suppress(OSError):
        if os.getpriority(os.PRIO_PROCESS, 0) != standing.niceness:
            os.setpriority(os.PRIO_PROCESS, 0, standing.niceness)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, standing.cores)


def _status(field: str) -> str:
    try:
        descriptor = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        text = os.read(descriptor, 16_384).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
    return text.partition(f"\n{field}:")[2].partition("\n")[0].strip()

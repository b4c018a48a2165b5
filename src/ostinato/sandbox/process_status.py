"""What the system says of this process: its rights and its umask, read and not tried."""

import os
import sys
from typing import Final

CAPABILITIES: Final = {"CAP_SYS_CHROOT": 18, "CAP_SYS_ADMIN": 21}


def lacking_right() -> str:
    """What this process lacks for it, "" if nothing does: cheap, and no promise (a filter of calls may still refuse)."""
    if sys.platform != "linux":
        return "there are no pid namespaces on this system"
    rights = int(_status("CapEff") or "0", 16)
    missing = [name for name, bit in CAPABILITIES.items() if not rights >> bit & 1]
    return f"this user lacks {' and '.join(missing)}" if missing else ""


def umask_now() -> int:
    """That of the whole process; asking the usual way means to change it for a moment."""
    return int(_status("Umask") or "022", 8)


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

"""Two names of one folder exchanged in one step, where the system can: what was replaced can still be looked at."""

import errno
import os
from functools import cache
from typing import Any, Final

RENAME_EXCHANGE: Final = 2
NOT_OFFERED: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})
"""No such call, or the file system has no such rename."""


@cache
def _system_call() -> Any:
    import ctypes  # ruff: ignore[import-outside-top-level] - only the replacement of an existing file needs it

    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def exchange(folder: int, one: str, other: str) -> bool:
    """Each name leads to the other's file from now on. False: it cannot be done here, and nothing changed. Raises OSError."""
    import ctypes  # ruff: ignore[import-outside-top-level] - as above

    call = _system_call()
    if call is None:
        return False
    if call(folder, os.fsencode(one), folder, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in NOT_OFFERED:
        return False
    raise OSError(number, os.strerror(number), other)

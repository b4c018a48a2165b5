"""The secrets that this process was started with, no longer to be read from outside.

The kernel shows to every process of the same user, and to root, the environment that a process was started with
(`/proc/PID/environ`), whatever became of it since. A command under `bypassPermissions` is asked nothing, and its parent is this
process. So the values are written over where the kernel looks; what Python copied at its start (`os.environ`) stays whole.

Promise: it raises nothing; where there is no such file (not Linux, or closed), nothing is changed.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Final

from ostinato.secret_values import NEVER_BY_VALUE, holds_secret, looks_secret

_ENVIRONMENT_FIELDS: Final = slice(47, 49)
"""Begin and end of the environment in memory, in `/proc/self/stat` behind the program's name (fields 50 and 51)."""

_MAX_BYTES: Final = 16 << 20
_FILLER: Final = b"*"


def hide_own_secrets() -> None:
    """For a program of its own alone: a host's process is the host's."""
    with contextlib.suppress(OSError, ValueError):
        begin, end = _place()
        memory = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
        try:
            block = os.pread(memory, min(end - begin, _MAX_BYTES), begin)
            for offset, length in _secrets(block):
                os.pwrite(memory, _FILLER * length, begin + offset)
        finally:
            os.close(memory)


def _place() -> tuple[int, int]:
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    begin, end = map(int, fields[_ENVIRONMENT_FIELDS])
    return begin, end


def _secrets(block: bytes) -> Iterator[tuple[int, int]]:
    """Where the values of secrets lie in the block, and how long they are."""
    position = 0
    for entry in block.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if value and _is_secret(os.fsdecode(name), os.fsdecode(value)):
            yield position + len(name) + 1, len(value)
        position += len(entry) + 1


def _is_secret(name: str, value: str) -> bool:
    return looks_secret(name) or (name.upper() not in NEVER_BY_VALUE and holds_secret(value))

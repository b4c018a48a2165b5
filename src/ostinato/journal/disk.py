"""The three system calls a session file is written with, as one value, so that a full or failing disk can be tested."""

import os
import sys
from collections.abc import Callable
from typing import Final

import msgspec

SYNC: Final = os.fsync if sys.platform == "darwin" else os.fdatasync


class Disk(msgspec.Struct, frozen=True):
    """`write` may write less than it was given and says how much; all raise OSError."""

    write: Callable[[int, bytes], int] = os.write
    truncate: Callable[[int, int], None] = os.ftruncate
    sync: Callable[[int], None] = SYNC

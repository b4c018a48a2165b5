"""The three system calls a session file is written with, as one value, so that a full or failing disk can be tested."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

SYNC: Final = os.fsync if sys.platform == "darwin" else os.fdatasync


@dataclass(frozen=True, slots=True)
class Disk:
    """`write` may write less than it was given and says how much; all raise OSError."""

    write: Callable[[int, bytes], int] = os.write
    truncate: Callable[[int, int], None] = os.ftruncate
    sync: Callable[[int], None] = SYNC

"""What was typed, for the arrow keys of later conversations: a file that only its owner can read, or memory when there is none."""

import contextlib
import os
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory


class KeptHistory(FileHistory):
    """A file that stops growing rather than stopping the conversation."""

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(string)


def input_history(root: Path | None) -> History:
    """The history in `root`, the data root; None, or a folder that cannot be written, keeps nothing."""
    if root is None:
        return InMemoryHistory()
    file = root / "history"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
    except OSError:
        return InMemoryHistory()
    return KeptHistory(file)

"""What was typed, for the arrow keys and Ctrl-R of later conversations: a file that only its owner can read, or memory."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from ostinato.cli.pasted_text import PastedTexts

MAX_FILE_BYTES: Final = 4_000_000
"""A larger file is cut to its newer half when a conversation begins."""

MAX_TEXT_CHARACTERS: Final = 20_000
"""A text that long with its pastes is kept with their markers instead."""


class KeptHistory(FileHistory):
    """A file that stops growing rather than stopping the conversation."""

    def __init__(self, file: Path, pastes: PastedTexts) -> None:
        super().__init__(file)
        self._pastes = pastes

    def append_string(self, string: str) -> None:
        super().append_string(kept_text(string, self._pastes))

    def load_history_strings(self) -> Iterable[str]:
        try:
            yield from super().load_history_strings()
        except OSError:
            return

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(string)


class UnkeptHistory(InMemoryHistory):
    """For this conversation only."""

    def __init__(self, pastes: PastedTexts) -> None:
        super().__init__()
        self._pastes = pastes

    def append_string(self, string: str) -> None:
        super().append_string(kept_text(string, self._pastes))


def kept_text(line: str, pastes: PastedTexts) -> str:
    """The line as it comes back: whole, unless its pastes are too long for that."""
    whole = pastes.expanded(line)
    return whole if len(whole) <= MAX_TEXT_CHARACTERS else pastes.marked(line)


def input_history(root: Path | None, pastes: PastedTexts) -> History:
    """The history in `root`, the data root; None, or a folder that cannot be written, keeps nothing."""
    if root is None:
        return UnkeptHistory(pastes)
    file = root / "history"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
        _shorten(file)
    except OSError:
        return UnkeptHistory(pastes)
    return KeptHistory(file, pastes)


def _shorten(file: Path) -> None:
    """Other conversations append by name, so that replacing the file loses at most what they write in this moment."""
    if file.stat().st_size <= MAX_FILE_BYTES:
        return
    data = file.read_bytes()[-MAX_FILE_BYTES // 2 :]
    beginning = data.find(b"\n# ")
    shorter = file.with_name(f"{file.name}.{os.getpid()}")
    descriptor = os.open(shorter, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data[beginning + 1 :])
    os.replace(shorter, file)

"""All output of a process in the background, as a terminal would show it, to be read by offset while it grows: its beginning in a file, its end in memory.

Promise: memory and disk stay bounded whatever comes, what was not kept is counted, and no code point is split by a reading.
"""

import re
import threading
from pathlib import Path
from typing import Final, Self

import msgspec

from ostinato.sandbox.output import Begun, SpillFile
from ostinato.sandbox.terminal_fold import TerminalFold

TAIL_BYTES: Final = 64 * 1024
"""The newest output, kept in memory: what a file that is full, or cannot be, no longer takes."""

TAIL_WITHOUT_FILE_BYTES: Final = 1024 * 1024

UNFINISHED: Final = re.compile(
    rb"(?: [\xc0-\xff][\x80-\xbf]{0,2} | \x1b (?: \[ [0-?]{0,32} [ -/]* )? )$", re.VERBOSE
)
"""At the end of what was written so far: the beginning of a code point or of an escape sequence. The rest is on its way."""


class Slice(msgspec.Struct, frozen=True):
    """The bytes from `start` on; those between the offset that was asked for and `start` were not kept."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.data)


class OutputLog:
    """One thread feeds, others read. Offsets are in bytes of the whole output."""

    def __init__(self, begun: Begun) -> None:
        self._file = begun.spill
        self._tail = bytearray(begun.recent)
        self._capacity = TAIL_WITHOUT_FILE_BYTES if begun.spill is None else TAIL_BYTES
        self._lock = threading.Lock()
        self._fold = begun.fold
        self.total_bytes = begun.total_bytes

    @classmethod
    def in_folder(cls, folder: Path | None) -> Self:
        """Of an output that has not begun; without a folder only the newest of it is kept."""
        return cls(Begun(b"", 0, None if folder is None else SpillFile(folder), TerminalFold()))

    @property
    def path(self) -> Path | None:
        """Where it lies; None before the first byte, and where it could not be kept."""
        return None if self._file is None else self._file.path

    @property
    def unfinished_line(self) -> str:
        """The last one, as it looks now; it counts when it is done."""
        with self._lock:
            return self._fold.unfinished.decode("utf-8", "replace")

    def feed(self, chunk: bytes) -> None:
        with self._lock:
            self._take(self._fold.feed(chunk))

    def end(self) -> None:
        """Nothing more is held back."""
        with self._lock:
            self._take(self._fold.end())

    def _take(self, chunk: bytes) -> None:
        self.total_bytes += len(chunk)
        if self._file is not None:
            self._file.write(chunk)
        self._tail += chunk
        # Trimming only at twice the capacity keeps the cost per byte constant.
        if len(self._tail) > 2 * self._capacity:
            del self._tail[: -self._capacity]

    def read(self, offset: int, max_bytes: int, *, is_growing: bool) -> Slice:
        """At most `max_bytes` from `offset` on. Where more follows it ends with a line if it can; while the output grows what
        is not yet finished at its end is left for the next reading.
        """
        with self._lock:
            found = self._from(min(offset, self.total_bytes), max_bytes)
            more_follows = found.end < self.total_bytes
        if more_follows:
            line_end = found.data.rfind(b"\n") + 1
            whole = found.data[:line_end] if line_end else UNFINISHED.sub(b"", found.data)
            return Slice(found.start, whole or found.data)
        return Slice(found.start, UNFINISHED.sub(b"", found.data)) if is_growing else found

    def close(self) -> None:
        """No more will come; it can still be read."""
        with self._lock:
            self._take(self._fold.end())
            if self._file is not None:
                self._file.close()

    def _from(self, offset: int, max_bytes: int) -> Slice:
        if self._file is not None and offset < self._file.kept_bytes:
            data = self._file.read(offset, min(max_bytes, self._file.kept_bytes - offset))
            if data:
                return Slice(offset, data)
        start = max(offset, self.total_bytes - len(self._tail))
        place = start - (self.total_bytes - len(self._tail))
        return Slice(start, bytes(self._tail[place : place + max_bytes]))

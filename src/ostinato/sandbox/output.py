"""A child's output in bounded memory: head and tail are kept, the middle is counted and, if wanted, goes to a file.

Promise: whatever is fed in, memory stays near `max_bytes`, the text is valid Unicode and an omission is marked.
"""

import codecs
import contextlib
import os
from pathlib import Path
from typing import Final

import msgspec

from ostinato.sandbox.terminal_fold import TerminalFold

MAX_SPILL_BYTES: Final = 256 * 1024 * 1024
"""A spill file stops growing here; the command runs on and its bytes are still counted."""

MARK_BYTES: Final = 64
"""Room taken from the window for the mark, so that marked output still fits `max_bytes`."""

MAX_PROGRESS_BYTES: Final = 4096
"""Live progress shows at most this much of the newest output at a time."""


class Begun(msgspec.Struct, frozen=True):
    """Output that somebody else goes on with: `total_bytes` have come, of which `recent` are the last, without a gap; what lies
    before them is in the `spill`, if there is one. `fold` holds what is not a whole line yet.
    """

    recent: bytes
    total_bytes: int
    spill: "SpillFile | None"
    fold: TerminalFold


class OutputWindow:
    """Takes a byte stream piece by piece and renders its head and tail as text. With a `fold`, everything here is about what
    it lets through.
    """

    def __init__(
        self, max_bytes: int, spill: "SpillFile | None" = None, *, fold: TerminalFold | None = None
    ) -> None:
        self._fold = fold
        self._head_capacity = max_bytes // 2
        self._tail_capacity = max_bytes - self._head_capacity
        self._head = bytearray()
        self._tail = bytearray()
        self._spill = spill
        self._unfinished = ""
        self.total_bytes = 0

    @property
    def is_truncated(self) -> bool:
        return self.total_bytes > self._head_capacity + self._tail_capacity

    def feed(self, chunk: bytes) -> None:
        self._take(chunk if self._fold is None else self._fold.feed(chunk))

    def end(self) -> None:
        """Nothing more will come."""
        if self._fold is not None:
            self._take(self._fold.end())

    def handed_on(self) -> Begun:
        """For who takes the rest; nothing more comes here."""
        recent = bytes(self._tail if self.is_truncated else self._head + self._tail)
        self._unfinished = "" if self._fold is None else self._fold.unfinished.decode("utf-8", "replace")
        if self._spill is not None and not self.is_truncated:
            self._spill.write(recent)
        return Begun(recent, self.total_bytes, self._spill, self._fold or TerminalFold())

    def _take(self, chunk: bytes) -> None:
        fits_before = not self.is_truncated
        self.total_bytes += len(chunk)
        if self._spill is not None and self.is_truncated:
            if fits_before:
                self._spill.write(bytes(self._head + self._tail))
            self._spill.write(chunk)
        room = self._head_capacity - len(self._head)
        if room <= 0 and len(chunk) >= self._tail_capacity:
            self._tail[:] = memoryview(chunk)[len(chunk) - self._tail_capacity :]
            return
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Trimming only at twice the capacity keeps the cost per byte constant.
        if self.is_truncated and len(self._tail) > 2 * self._tail_capacity:
            del self._tail[: -self._tail_capacity]

    def text(self) -> str:
        """All of it, or head, mark and tail. What was handed on ends with how its last line looked then."""
        return self._kept_text() + self._unfinished

    def _kept_text(self) -> str:
        if not self.is_truncated:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        head, head_bytes = _decode_head(bytes(self._head[: max(0, self._head_capacity - MARK_BYTES // 2)]))
        tail_size = max(0, self._tail_capacity - MARK_BYTES // 2)
        tail = _skip_split_code_point(bytes(self._tail[len(self._tail) - tail_size :]))
        left_out = self.total_bytes - head_bytes - len(tail)
        return f"{head}\n[... {left_out} bytes left out ...]\n{tail.decode('utf-8', 'replace')}"


class SpillFile:
    """A file that comes into being with its first byte and takes at most `max_bytes`; `kept_bytes` are in it.

    A full disk ends the spilling, never the run: then there is no file at the end.
    """

    def __init__(self, folder: Path, max_bytes: int = MAX_SPILL_BYTES) -> None:
        self._folder = folder
        self._left = max_bytes
        self._descriptor: int | None = None
        self.path: Path | None = None
        self.kept_bytes = 0

    def write(self, data: bytes) -> None:
        if self._left <= 0 or not data:
            return
        view = memoryview(data)[: self._left]
        self._left -= len(view)
        size = len(view)
        try:
            self._write_all(view)
            self.kept_bytes += size
        except OSError:
            self._left = 0
            self.discard()

    def _write_all(self, view: memoryview) -> None:
        if self._descriptor is None:
            import tempfile  # ruff: ignore[import-outside-top-level] - hardly any output is too long to keep

            self._folder.mkdir(parents=True, exist_ok=True)
            self._descriptor, name = tempfile.mkstemp(prefix="output-", suffix=".txt", dir=self._folder)
            self.path = Path(name)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Of what was kept; also after closing. Nothing if the file is gone."""
        if self.path is None:
            return b""
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                return file.read(max_bytes)
        except OSError:
            return b""

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def discard(self) -> None:
        """Close and remove the file."""
        self.close()
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()
            self.path, self.kept_bytes = None, 0


class RecentText:
    """The newest output, not yet shown, as text; older text makes way (progress may be lossy, never large)."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""

    def feed(self, chunk: bytes) -> None:
        recent = (
            _skip_split_code_point(chunk[-MAX_PROGRESS_BYTES:]) if len(chunk) > MAX_PROGRESS_BYTES else chunk
        )
        if recent is not chunk:
            self._decoder.reset()
        self._text = (self._text + self._decoder.decode(recent))[-MAX_PROGRESS_BYTES:]

    @property
    def has_text(self) -> bool:
        return self._text != ""

    def take(self) -> str:
        text, self._text = self._text, ""
        return text


def _decode_head(head: bytes) -> tuple[str, int]:
    """The text of `head` without a code point cut off at its end, and the bytes that text stands for."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(head)
    return text, len(head) - len(decoder.getstate()[0])


def _skip_split_code_point(tail: bytes) -> bytes:
    """`tail` without continuation bytes at its start: their first byte is not there."""
    start = 0
    while start < min(3, len(tail)) and tail[start] & 0xC0 == 0x80:
        start += 1
    return tail[start:]

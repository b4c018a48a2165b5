"""A range of lines of a file of any size, read piece by piece: memory is bounded by the range, never by the file.

Line ends count as Edit counts them: `\\n` and `\\r\\n`, and `\\r` alone only in a file that has no other.
"""

import codecs
from typing import Final

from ostinato.tools.text_encoding import EncodingScan, TextEncoding, marked_encoding

MAX_LINE_CHARACTERS: Final = 2000
MAX_LINE_BYTES: Final = 4 * MAX_LINE_CHARACTERS + 4
"""Enough bytes for that many characters in UTF-8, and one more to see that there are more."""


class FileLines:
    """Fed with all bytes of a file in order; keeps `limit` lines from line `first` on, at most `max_bytes` of text."""

    def __init__(self, first: int, limit: int, max_bytes: int) -> None:
        self._window = _LineWindow(first, limit, max_bytes)
        self._scan = EncodingScan()
        self._wide: codecs.IncrementalDecoder | None = None
        self._held = b""
        self._is_begun = False
        self._is_classic: bool | None = None

    def feed(self, data: bytes) -> None:
        self._scan.feed(data)
        if not self._is_begun:
            data = self._without_mark(data)
        self._take(data if self._wide is None else self._wide.decode(data).encode())

    def finish(self) -> None:
        """Say that the file ends here."""
        rest = b"" if self._wide is None else self._wide.decode(b"", final=True).encode()
        self._take(rest, is_last=True)
        self._window.finish()

    def _without_mark(self, data: bytes) -> bytes:
        self._is_begun = True
        marked = marked_encoding(data)
        if marked is None:
            return data
        if marked.name != "utf-8":
            self._wide = codecs.getincrementaldecoder(marked.name)("replace")
        return data[len(marked.bom) :]

    def _take(self, data: bytes, *, is_last: bool = False) -> None:
        data = self._held + data
        self._held = b""
        if data.endswith(b"\r") and not is_last:
            data, self._held = data[:-1], b"\r"
        if self._is_classic is None and (data or is_last):
            # What the first piece is like holds for the file: a piece is far longer than any line of such files.
            self._is_classic = b"\r" in data and b"\n" not in data
        self._window.feed(data.replace(b"\r", b"\n") if self._is_classic else data.replace(b"\r\n", b"\n"))

    @property
    def encoding(self) -> TextEncoding:
        """Known after `finish`."""
        return self._scan.result()

    @property
    def total_lines(self) -> int:
        """Lines in the whole file; one without a line end at the end of the file counts too."""
        return self._window.total_lines

    @property
    def shown_lines(self) -> list[str]:
        """The kept lines as text, over-long ones cut with a mark."""
        name = "utf-8" if self._wide is not None else self.encoding.name
        return [_cut(line.decode(name, "replace"), size) for line, size in self._window.lines]


def _cut(text: str, size_bytes: int) -> str:
    if len(text) <= MAX_LINE_CHARACTERS:
        return text
    return f"{text[:MAX_LINE_CHARACTERS]}[... line of {size_bytes} bytes cut]"


class _LineWindow:
    """Counts the lines of `\\n`-ended bytes and keeps some; of a kept line only its beginning."""

    def __init__(self, first: int, limit: int, max_bytes: int) -> None:
        self._first, self._limit, self._bytes_left = first, limit, max_bytes
        self._line = bytearray()
        self._line_size = 0
        self._is_open = self._is_full = False
        self.total_lines = 0
        self.lines: list[tuple[bytes, int]] = []

    def feed(self, data: bytes) -> None:
        if not data:
            return
        count = data.count(b"\n")
        self._is_open = not data.endswith(b"\n")
        if self._is_full or self.total_lines + count < self._first - 1:
            self.total_lines += count
            return
        wanted = self._first - 1 + self._limit - self.total_lines
        *ended, rest = data.split(b"\n", wanted)
        for piece in ended:
            self._extend(piece)
            self._end_line()
        if len(ended) == wanted:
            self.total_lines += rest.count(b"\n")
        else:
            self._extend(rest)

    def finish(self) -> None:
        if self._is_open:
            self._end_line()

    def _extend(self, piece: bytes) -> None:
        self._line_size += len(piece)
        room = MAX_LINE_BYTES - len(self._line)
        self._line += piece[:room]

    def _end_line(self) -> None:
        self.total_lines += 1
        if self.total_lines >= self._first and not self._is_full:
            self._keep()
        self._line.clear()
        self._line_size = 0

    def _keep(self) -> None:
        if self.lines and len(self._line) > self._bytes_left:
            self._is_full = True
            return
        self._bytes_left -= len(self._line)
        self.lines.append((bytes(self._line), self._line_size))
        self._is_full = len(self.lines) >= self._limit

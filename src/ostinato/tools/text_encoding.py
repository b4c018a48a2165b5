"""How a file's bytes stand for text, decided so that decoding and encoding again gives the same bytes."""

import codecs
import contextlib
import re
from collections.abc import Sequence
from typing import Final

import msgspec

BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""UTF-32 stands before UTF-16: its little-endian mark begins with the other's."""

PROPER_CHARACTER: Final = re.compile(r"[^\x00-\x7f\udc80-\udcff]")
NOT_IN_CP1252: Final = re.compile(r"[\udc81\udc8d\udc8f\udc90\udc9d]")


ONE_BYTE_ASCII: Final = frozenset({"utf-8", "cp1252", "latin-1"})


class TextEncoding(msgspec.Struct, frozen=True):
    """`name` is Python's codec; `has_stray_bytes`: UTF-8 with some bytes that are not, kept as they are."""

    name: str
    bom: bytes = b""
    has_stray_bytes: bool = False

    @property
    def is_plain(self) -> bool:
        """UTF-8 without anything worth a word."""
        return self.name == "utf-8" and not self.bom and not self.has_stray_bytes

    @property
    def label(self) -> str:
        """As told to the model."""
        if self.has_stray_bytes:
            return "UTF-8 with bytes that are not valid UTF-8, shown as \ufffd"
        mark = " with byte order mark" if self.bom else ""
        guessed = " (a guess)" if self.name in {"cp1252", "latin-1"} else ""
        return f"{self.name}{mark}{guessed}"

    @property
    def _errors(self) -> str:
        return "surrogateescape" if self.name == "utf-8" else "strict"

    def decode(self, data: bytes) -> str:
        """The text of a whole file, its mark left out. Raises UnicodeDecodeError for broken UTF-16 or UTF-32."""
        return data[len(self.bom) :].decode(self.name, self._errors)

    def encode(self, text: str) -> bytes:
        """The bytes of a whole file, mark included. Raises UnicodeEncodeError for what this encoding cannot say."""
        return self.bom + text.encode(self.name, self._errors)

    def spliced(self, data: bytes, text: str, changes: Sequence[tuple[int, int, str]]) -> bytes:
        """The bytes of a file whose decoded `text` changes at these places (in order, apart): only what is new is encoded.

        Raises UnicodeEncodeError for what this encoding cannot say.
        """
        whole = memoryview(data)
        pieces: list[bytes | memoryview] = []
        done = read = 0
        place = len(self.bom)
        for start, end, new in changes:
            place += self._size(text, read, start)
            pieces += (whole[done:place], new.encode(self.name, self._errors))
            place += self._size(text, start, end)
            done, read = place, end
        return b"".join((*pieces, whole[done:]))

    def _size(self, text: str, start: int, end: int) -> int:
        if text.isascii() and self.name in ONE_BYTE_ASCII:
            return end - start
        return len(text[start:end].encode(self.name, self._errors))


UTF_8: Final = TextEncoding("utf-8")


def marked_encoding(head: bytes) -> TextEncoding | None:
    """The encoding that a byte order mark names."""
    return next((TextEncoding(name, bom) for bom, name in BYTE_ORDER_MARKS if head.startswith(bom)), None)


def decoded(data: bytes) -> tuple[TextEncoding, str]:
    """The encoding and the text of a whole file. Raises UnicodeDecodeError for broken UTF-16 or UTF-32."""
    if marked_encoding(data) is None:
        with contextlib.suppress(UnicodeDecodeError):
            return UTF_8, data.decode("utf-8")
    encoding = encoding_of(data)
    return encoding, encoding.decode(data)


def encoding_of(data: bytes) -> TextEncoding:
    """The encoding of a whole file."""
    scan = EncodingScan()
    scan.feed(data)
    return scan.result()


class EncodingScan:
    """Sees a file piece by piece in bounded memory and then says what it is.

    A mark decides; else UTF-8 if anything beyond ASCII is valid UTF-8; else Windows-1252, or Latin-1 for the five bytes
    that the former lacks.
    """

    def __init__(self) -> None:
        # Valid text, which most is, is looked at once; only after the first stray byte what is escaped is searched for.
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._marked: TextEncoding | None = None
        self._is_begun = self._has_stray = self._has_proper = self._is_beyond_cp1252 = False

    def feed(self, data: bytes) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._marked = marked_encoding(data)
        self._look_at(self._decode(data, is_last=False))

    def _decode(self, data: bytes, *, is_last: bool) -> str:
        state = self._decoder.getstate()
        try:
            return self._decoder.decode(data, is_last)
        except UnicodeDecodeError:
            self._has_stray = True
            self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
            self._decoder.setstate(state)
            return self._decoder.decode(data, is_last)

    def _look_at(self, text: str) -> None:
        if text.isascii():
            return
        self._has_proper = self._has_proper or PROPER_CHARACTER.search(text) is not None
        if not self._has_stray:
            return
        self._is_beyond_cp1252 = self._is_beyond_cp1252 or NOT_IN_CP1252.search(text) is not None

    def result(self) -> TextEncoding:
        self._look_at(self._decode(b"", is_last=True))
        if self._marked is not None:
            has_stray_bytes = self._marked.name == "utf-8" and self._has_stray
            return TextEncoding(self._marked.name, self._marked.bom, has_stray_bytes)
        if not self._has_stray or self._has_proper:
            return TextEncoding("utf-8", has_stray_bytes=self._has_stray)
        return TextEncoding("latin-1" if self._is_beyond_cp1252 else "cp1252")

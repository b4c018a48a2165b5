"""How a file's bytes stand for text, decided so that decoding and encoding again gives the same bytes."""

import codecs
import re
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

ESCAPED_BYTE: Final = re.compile(r"[\udc80-\udcff]")
PROPER_CHARACTER: Final = re.compile(r"[^\x00-\x7f\udc80-\udcff]")
NOT_IN_CP1252: Final = re.compile(r"[\udc81\udc8d\udc8f\udc90\udc9d]")


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


UTF_8: Final = TextEncoding("utf-8")


def marked_encoding(head: bytes) -> TextEncoding | None:
    """The encoding that a byte order mark names."""
    return next((TextEncoding(name, bom) for bom, name in BYTE_ORDER_MARKS if head.startswith(bom)), None)


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
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._marked: TextEncoding | None = None
        self._is_begun = self._has_stray = self._has_proper = self._is_beyond_cp1252 = False

    def feed(self, data: bytes) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._marked = marked_encoding(data)
        self._look_at(self._decoder.decode(data))

    def _look_at(self, text: str) -> None:
        if text.isascii():
            return
        self._has_proper = self._has_proper or PROPER_CHARACTER.search(text) is not None
        self._has_stray = self._has_stray or ESCAPED_BYTE.search(text) is not None
        self._is_beyond_cp1252 = self._is_beyond_cp1252 or NOT_IN_CP1252.search(text) is not None

    def result(self) -> TextEncoding:
        self._look_at(self._decoder.decode(b"", final=True))
        if self._marked is not None:
            has_stray_bytes = self._marked.name == "utf-8" and self._has_stray
            return TextEncoding(self._marked.name, self._marked.bom, has_stray_bytes)
        if not self._has_stray or self._has_proper:
            return TextEncoding("utf-8", has_stray_bytes=self._has_stray)
        return TextEncoding("latin-1" if self._is_beyond_cp1252 else "cp1252")

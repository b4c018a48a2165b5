"""A packed body as it arrives: never more unpacked than is wanted, and whether its end has come.

Packed pieces may follow each other (gzip); `deflate` comes with its wrapping or, from some servers, without.
"""

import zlib
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

WRAPPED: Final = zlib.MAX_WBITS | 32
"""gzip or zlib, whichever it turns out to be."""

BARE: Final = -zlib.MAX_WBITS


class Unpacking(Protocol):
    @property
    def is_whole(self) -> bool:
        """Whether what came so far can be all of it."""
        ...

    def some(self, chunk: bytes, max_bytes: int) -> bytes:
        """What the chunk stands for, as far as `max_bytes`; behind a cut nothing more may be asked. Raises ValueError."""
        ...


class Plain:
    """Not packed at all."""

    is_whole = True

    def some(self, chunk: bytes, max_bytes: int) -> bytes:
        del max_bytes
        return chunk


class Zipped:
    """`may_be_bare`: a first piece that is not wrapped may be one all the same."""

    def __init__(self, *, may_be_bare: bool = False) -> None:
        self._may_be_bare = may_be_bare
        self._unpack = zlib.decompressobj(WRAPPED)
        self._head = b""
        self._has_said = self._has_ended = self._is_over = False

    @property
    def is_whole(self) -> bool:
        return self._is_over or not self._head

    def some(self, chunk: bytes, max_bytes: int) -> bytes:
        plain = bytearray()
        while chunk and not self._is_over and len(plain) < max_bytes:
            plain += self._next(chunk, max_bytes - len(plain))
            chunk = self._unpack.unused_data or self._unpack.unconsumed_tail
            if self._unpack.eof:
                self._unpack = zlib.decompressobj(WRAPPED)
                self._head, self._has_said, self._has_ended = b"", False, True
        return bytes(plain)

    def _next(self, chunk: bytes, max_bytes: int) -> bytes:
        if not self._has_said:
            self._head += chunk
        try:
            said = self._unpack.decompress(chunk, max_bytes)
        except zlib.error as error:
            return self._otherwise(error, max_bytes)
        self._has_said = self._has_said or said != b""
        if self._has_said:
            self._head = self._head[:1]
        return said

    def _otherwise(self, error: zlib.error, max_bytes: int) -> bytes:
        if self._has_ended and not self._has_said:  # what follows the last piece is no piece: filling
            self._is_over = True
            return b""
        if self._has_said or not self._may_be_bare:
            raise ValueError(f"it cannot be unpacked: {error}") from error
        self._unpack = zlib.decompressobj(BARE)
        try:
            said = self._unpack.decompress(self._head, max_bytes)
        except zlib.error:
            raise ValueError(f"it cannot be unpacked: {error}") from error
        self._has_said = True
        return said


KINDS: Final[dict[str, Callable[[], Unpacking]]] = {
    "": Plain,
    "identity": Plain,
    "gzip": Zipped,
    "x-gzip": Zipped,
    "deflate": partial(Zipped, may_be_bare=True),
}


def unpacking(encoding: str) -> Unpacking:
    """For a body with this `Content-Encoding`. Raises ValueError for what was not asked for and cannot be unpacked."""
    name = encoding.strip().lower()
    if name not in KINDS:
        raise ValueError(f"it is packed as `{name}`, which nobody asked for")
    return KINDS[name]()

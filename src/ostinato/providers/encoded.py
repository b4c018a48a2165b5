"""Encoded bytes of frozen objects, kept while they are in use: each call encodes only what is new.

Keyed by identity. An entry holds its object, so that an identity cannot be taken over; the least used leave first.
"""

from collections.abc import Callable
from typing import TypeVar

MAX_CACHED_BYTES = 64 * 1024 * 1024
"""Twice the largest request body that a provider takes, so that one long conversation never evicts itself."""

Source = TypeVar("Source")


class EncodedBytes:
    """`of(item, encode)` is `encode(item)`, remembered. Only for objects that never change."""

    def __init__(self, *, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: dict[int, tuple[object, bytes]] = {}
        self._size = 0

    @property
    def size_bytes(self) -> int:
        return self._size

    def of(self, item: Source, encode: Callable[[Source], bytes]) -> bytes:
        key = id(item)
        entry = self._entries.pop(key, None)
        if entry is None:
            entry = (item, encode(item))
            self._size += len(entry[1])
        self._entries[key] = entry  # at the end: dictionaries keep their order, the oldest use comes first
        while self._size > self._max_bytes and len(self._entries) > 1:
            _, dropped = self._entries.pop(next(iter(self._entries)))
            self._size -= len(dropped)
        return entry[1]

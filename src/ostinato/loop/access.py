"""Which calls may run at the same time: two accesses conflict when one writes what the other touches.

Paths are compared as they are written and by what they lead to (device and inode), so that hard links, bind mounts and names
that a file system does not tell apart are one place. What is not there yet is named below the folder that is.
"""

import os
import unicodedata
from collections.abc import Hashable, Sequence
from functools import cached_property
from pathlib import Path

from ostinato.tool import Access


class Touched:
    """What one call touches. Where its paths lead is looked up once, and only if a comparison needs it."""

    def __init__(self, access: Access) -> None:
        self.access = access

    def conflicts_with(self, other: "Touched") -> bool:
        """Symmetric. `exclusive` conflicts with everything, `reads_anything` with everything that is written."""
        one, two = self.access, other.access
        if one.exclusive or two.exclusive:
            return True
        if (one.reads_anything and two.writes) or (two.reads_anything and one.writes):
            return True
        return (
            _overlap(self._written, other._written)
            or _overlap(self._written, other._read)
            or _overlap(self._read, other._written)
        )

    @cached_property
    def _read(self) -> "tuple[_Place, ...]":
        return tuple(map(_Place, self.access.reads))

    @cached_property
    def _written(self) -> "tuple[_Place, ...]":
        return tuple(map(_Place, self.access.writes))


def conflicts(first: Access, second: Access) -> bool:
    """For two accesses that are compared once."""
    return Touched(first).conflicts_with(Touched(second))


class _Place:
    """A path, and the identities of it and of every folder above it, its own first."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def identities(self) -> tuple[Hashable, ...]:
        return _identities(self.path)

    def overlaps(self, other: "_Place") -> bool:
        if self.path.is_relative_to(other.path) or other.path.is_relative_to(self.path):
            return True
        return self.identities[0] in other.identities or other.identities[0] in self.identities


def _overlap(first: "Sequence[_Place]", second: "Sequence[_Place]") -> bool:
    return any(one.overlaps(two) for one in first for two in second)


def _identities(path: Path) -> tuple[Hashable, ...]:
    missing: list[str] = []
    found: list[Hashable] = []
    for folder in (path, *path.parents):
        identity = _identity(folder)
        if identity is None and not found:
            missing.append(_plain_name(folder.name))
        else:
            found.append(identity)
    names = tuple(reversed(missing))
    nearest = found[0] if found else None
    unmade = [(nearest, names[: len(names) - up]) for up in range(len(names))]
    return (*unmade, *found)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _plain_name(name: str) -> str:
    """Two names that some file system takes for one are one here: then two calls run one after the other, no more."""
    return unicodedata.normalize("NFC", name).casefold()

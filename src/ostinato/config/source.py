"""Where a setting was written: the level, the file and the key; and what was wrong with one, said to a person."""

from pathlib import Path
from typing import Final, Generic, Literal, TypeVar

import msgspec

Level = Literal["managed", "flags", "environment", "settings_flag", "local", "project", "user"]

LEVELS: Final[tuple[Level, ...]] = (
    "managed",
    "flags",
    "environment",
    "settings_flag",
    "local",
    "project",
    "user",
)
"""From what wins to what yields."""

PROJECT_LEVELS: Final[frozenset[Level]] = frozenset({"local", "project"})
"""Files that lie in the project, so that whoever wrote the project may have written them."""

T_co = TypeVar("T_co", covariant=True)


class Source(msgspec.Struct, frozen=True):
    """One file, or one flag or variable. `path` is None for what is in no file.

    `anchor` is the folder that `/rel` patterns of permission rules start from; None means the working folder.
    """

    level: Level
    name: str
    path: Path | None = None
    anchor: Path | None = None

    def __str__(self) -> str:
        return self.name


class Origin(msgspec.Struct, frozen=True):
    """`key` is the whole way to the value, such as `permissions.allow[2]`."""

    source: Source
    key: str

    def __str__(self) -> str:
        return f"{self.source} ({self.key})" if self.source.path else str(self.source)


class Sourced(msgspec.Struct, Generic[T_co], frozen=True):
    """A value that knows where it comes from."""

    value: T_co
    origin: Origin


class Problem(msgspec.Struct, frozen=True):
    """Something that was left out: all of the file if `key` is empty, else that key alone. Lines and columns count from 1."""

    source: Source
    what: str
    hint: str = ""
    key: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        which = f": `{self.key}`" if self.key else ""
        return f"`{self.source}`{self._place}{which} {self.what}"

    @property
    def where_and_what(self) -> str:
        """What is said behind the name of the file."""
        return f"{self.what}{self._place}"

    @property
    def _place(self) -> str:
        column = "" if self.column is None else f", column {self.column}"
        return "" if self.line is None else f", line {self.line}{column}"

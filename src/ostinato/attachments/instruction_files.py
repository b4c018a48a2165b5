"""What instructions there are: values that say which file, from where, on whose account, and what was not loaded and why."""

from pathlib import Path
from typing import Final, Literal

import msgspec

Kind = Literal["instructions", "rule", "local", "import"]
Origin = Literal["managed", "user", "project"]
ProblemKind = Literal[
    "unreadable", "too_large", "long", "refused", "excluded", "too_deep", "not_found", "front_matter"
]

ADVISED_CHARACTERS: Final = 40_000
"""A longer file is loaded, with the advice to make it shorter (semantics §31.1)."""

MAX_BYTES: Final = 4 << 20
"""Of one file, and of all together; what is beyond is not loaded (semantics §31.1)."""

MAX_FILES: Final = 1000
MAX_IMPORT_DEPTH: Final = 4
MANAGED: Final = (
    Path("/etc/ostinato/AGENTS.md"),
    Path("/etc/ostinato/CLAUDE.md"),
    Path("/etc/claude-code/CLAUDE.md"),
)


class InstructionFile(msgspec.Struct, frozen=True):
    """One loaded file. `path` is how it was named, `base` the folder it speaks for.

    `paths` are patterns relative to `base`; a file that has some is shown only once a matching file is touched.
    `imported_from` is the file that named it with `@path`. `text` is without front matter and block comments.
    """

    path: Path
    kind: Kind
    origin: Origin
    base: Path
    text: str
    imported_from: Path | None = None
    paths: tuple[str, ...] = ()


class InstructionProblem(msgspec.Struct, frozen=True):
    """Something about `path` that a person should know; `long` and `front_matter` files are loaded all the same."""

    path: Path
    kind: ProblemKind
    reason: str


class LoadedInstructions(msgspec.Struct, frozen=True):
    """Files in the order in which they are read to the model, the more specific later; `resolved` are their real paths."""

    files: tuple[InstructionFile, ...] = ()
    problems: tuple[InstructionProblem, ...] = ()
    resolved: frozenset[Path] = frozenset()

    def plus(self, more: "LoadedInstructions") -> "LoadedInstructions":
        """Both, without saying anything twice."""
        return LoadedInstructions(
            tuple(dict.fromkeys((*self.files, *more.files))),
            tuple(dict.fromkeys((*self.problems, *more.problems))),
            self.resolved | more.resolved,
        )


class InstructionPlaces(msgspec.Struct, frozen=True):
    """Where to look. All paths are absolute, `cwd` and `roots` resolved.

    Project files may import from inside `roots` (at least `cwd`); other imports are refused. `excludes` are patterns; one that begins with `/` or `~/` is matched from there, any
    other at any depth. Managed files cannot be excluded.
    """

    cwd: Path
    roots: tuple[Path, ...]
    home: Path | None = None
    data_root: Path | None = None
    managed: tuple[Path, ...] = MANAGED
    excludes: tuple[str, ...] = ()

"""The folder in which a conversation's shell commands start: it follows `cd` from one round of calls to the next.

A round is judged and run in one and the same folder, whatever its calls do; outside the allowed folders nothing starts.
"""

import contextlib
import os
import re
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

import msgspec

CHANGES_FOLDER: Final = re.compile(r"(?<![\w./-])(?:cd|pushd|popd)(?![\w./-])")
MAX_PATH_BYTES: Final = 65_536


def may_change_folder(command: str) -> bool:
    """Whether the text says `cd` somewhere. A command that hides it (in a file that it reads) has no lasting effect."""
    return CHANGES_FOLDER.search(command) is not None


class Report(msgspec.Struct, frozen=True):
    """A shell told to say where it is when it exits: in memory, through an inherited descriptor."""

    descriptor: int

    def argv(self, command: str) -> tuple[str, ...]:
        """On one line with the command, so that its line numbers stay."""
        return ("bash", "-c", f"trap 'pwd -P >&{self.descriptor}' EXIT; {command}")

    def folder(self) -> Path | None:
        """None where it did not say it: it was killed, or replaced by another program."""
        said = os.pread(self.descriptor, MAX_PATH_BYTES, 0).removesuffix(b"\n")
        return Path(os.fsdecode(said)) if said.startswith(b"/") else None


@contextlib.contextmanager
def folder_report() -> Generator[Report | None]:
    """None on systems without files in memory: there each command starts in the same folder."""
    if sys.platform != "linux":
        yield None
        return
    descriptor = os.memfd_create("shell-folder")
    try:
        yield Report(descriptor)
    finally:
        os.close(descriptor)


class ShellFolder:
    """`current` is an existing real path inside `roots`, real ones too, whenever a round begins; `base` is where it began."""

    def __init__(self, base: Path, roots: Sequence[Path]) -> None:
        self.base = base
        self.current = base
        self._roots = tuple(roots)
        self._next: Path | None = None
        self._lost: Path | None = None

    def ended_in(self, folder: Path) -> str:
        """A command of this round ended there; what the model should know of it, often nothing."""
        if folder == self.current:
            self._next = None
            return ""
        if self._is_allowed(folder):
            self._next = folder
            return f"from your next reply on commands start in {folder}"
        self._next = self.base
        return f"commands start in {self.base} again: {folder} is outside the folders of this conversation"

    def settle(self) -> None:
        """A round is over: the last word on the folder counts from here on."""
        self.current, self._next = self._next or self.current, None
        if self.current != self.base and not self._is_allowed(self.current):
            self._lost, self.current = self.current, self.base

    def news(self) -> str:
        """To be told once: the folder was lost between two rounds."""
        lost, self._lost = self._lost, None
        return f"{lost} is gone, so this ran in {self.base}" if lost is not None else ""

    def _is_allowed(self, folder: Path) -> bool:
        return (
            os.path.realpath(folder) == str(folder)
            and os.path.isdir(folder)
            and os.access(folder, os.X_OK)
            and any(folder.is_relative_to(root) for root in self._roots)
        )

"""A tiny task for a local model, and how it is judged: by what is in its folder, and by the last words where it was a question."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

CHECK_SECONDS = 20


class Outcome(msgspec.Struct, frozen=True):
    """What is there to be judged: the folder as the model left it, and its last words."""

    folder: Path
    answer: str

    def text(self, name: str) -> str:
        """The file's text; empty if there is none."""
        path = self.folder / name
        return path.read_text(errors="replace") if path.is_file() else ""

    def ran(self, *arguments: str) -> str | None:
        """What Python prints, run in the folder; None if it fails."""
        try:
            ended = subprocess.run(
                [sys.executable, *arguments],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=CHECK_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        return ended.stdout if ended.returncode == 0 else None

    def says(self, *words: str) -> bool:
        """Whether one of the words stands in the answer, whole."""
        return any(re.search(rf"\b{re.escape(word)}\b", self.answer, re.IGNORECASE) for word in words)


class Task(msgspec.Struct, frozen=True):
    """A prompt, the files it is about, and how to see whether it was done."""

    name: str
    prompt: str
    files: Mapping[str, str]
    check: Callable[[Outcome], bool]


def source(text: str) -> str:
    """A file's text out of an indented literal."""
    return textwrap.dedent(text).lstrip("\n")


def without_blanks(text: str) -> str:
    """For files whose layout is free: only the characters count."""
    return re.sub(r"\s+", "", text)

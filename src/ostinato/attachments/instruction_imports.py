"""`@path` in an instruction file: which other files it names. Code is left alone, and words that are no path cost nothing."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ostinato.attachments.markdown_text import without_code
from ostinato.home_folder import below_home

MAX_IMPORTS: Final = 200
"""Different `@…` words of one file that are looked at."""

IMPORT: Final = re.compile(r"(?<!\S)@((?:\\ |[^\s\\\0])+)")
CLOSING: Final = ".,;:!?)]}'\""


def import_words(text: str) -> Iterator[str]:
    """What follows an `@` that begins a word, in order, each once, with escaped spaces as spaces."""
    if "@" not in text:
        return
    words: dict[str, None] = {}
    for found in IMPORT.finditer(without_code(text)):
        words[found[1].replace("\\ ", " ")] = None
        if len(words) >= MAX_IMPORTS:
            break
    yield from words


def import_path(word: str, folder: Path, home: Path | None) -> Path | None:
    """The existing file that a word of a file in `folder` names; a closing mark or `#heading` may follow it."""
    bare = word.partition("#")[0]
    for name in dict.fromkeys((word, word.rstrip(CLOSING), bare.rstrip(CLOSING))):
        path = _expanded(name, folder, home)
        if path is not None and os.path.lexists(path) and not os.path.isdir(path):
            return Path(os.path.normpath(path))
    return None


def is_meant_as_path(word: str) -> bool:
    """Whether a word that names nothing is worth a notice: `@param` and `@scope/package` are not."""
    return word.startswith(("./", "../", "~/", "/")) or word.rstrip(CLOSING).endswith(".md")


def _expanded(name: str, folder: Path, home: Path | None) -> Path | None:
    if not name:
        return None
    below = below_home(name)
    if below is not None:
        return None if home is None else home / below
    return folder / name

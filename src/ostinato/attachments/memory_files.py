"""The notes that earlier sessions left for a project: small Markdown files in one folder, each with a line that says what
it is about. Blocking; run it in a worker thread.
"""

import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from ostinato.attachments.file_text import NotRead, read_file_text
from ostinato.front_matter import read_front_matter, text_of

MAX_FILES: Final = 200
"""The newest are looked at (semantics §30.1)."""

MAX_FILE_BYTES: Final = 256 << 10
INDEX_NAME: Final = "MEMORY.md"


class MemoryFile(msgspec.Struct, frozen=True):
    """One note. `description` says what it is about, `changed_at_s` is its modification time (seconds since 1970)."""

    path: Path
    name: str
    description: str
    body: str
    changed_at_s: float


def memory_files(folder: Path) -> tuple[MemoryFile, ...]:
    """The notes of a folder, newest first, without its index. What is no small regular text file is passed over."""
    found: list[tuple[float, Path]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                facts = _facts(entry)
                if facts is not None:
                    found.append((facts.st_mtime, Path(entry.path)))
    except OSError:
        return ()
    newest = sorted(found, key=lambda one: (-one[0], one[1]))[:MAX_FILES]
    return tuple(note for changed_at_s, path in newest if (note := _note(path, changed_at_s)) is not None)


def _facts(entry: "os.DirEntry[str]") -> os.stat_result | None:
    if not entry.name.endswith(".md") or entry.name == INDEX_NAME:
        return None
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return facts if stat.S_ISREG(facts.st_mode) and facts.st_size <= MAX_FILE_BYTES else None


def _note(path: Path, changed_at_s: float) -> MemoryFile | None:
    read = read_file_text(path, max_bytes=MAX_FILE_BYTES)
    if isinstance(read, NotRead):
        return None
    front = read_front_matter(read.text)
    name, description = (text_of(front.values.get(key, "")) for key in ("name", "description"))
    return MemoryFile(path, name or path.stem, description, front.body.strip(), changed_at_s)

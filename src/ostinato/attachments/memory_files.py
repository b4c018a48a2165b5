"""The notes that earlier sessions left for a project: small Markdown files in one folder, each with a line that says what
it is about. Blocking; run it in a worker thread.
"""

import os
import re
import stat
from pathlib import Path
from typing import Final

import msgspec

from ostinato.attachments.file_text import NotRead, read_file_text

MAX_FILES: Final = 200
"""The newest are looked at (semantics §30.1)."""

MAX_FILE_BYTES: Final = 256 << 10
INDEX_NAME: Final = "MEMORY.md"
_FACT: Final = re.compile(r"(name|description|type)[ \t]*:[ \t]*(.*)")
_FENCE: Final = re.compile(r"---[ \t]*")
_FRONT_LINES: Final = 30


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
    facts, body = _front_matter(read.text)
    return MemoryFile(
        path, facts.get("name") or path.stem, facts.get("description", ""), body.strip(), changed_at_s
    )


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    lines = text.split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return {}, text
    end = next((place for place in range(1, len(lines)) if _FENCE.fullmatch(lines[place])), None)
    if end is None or end > _FRONT_LINES:
        return {}, text
    matches = (_FACT.fullmatch(line) for line in lines[1:end])
    return {found[1]: found[2].strip().strip("\"'") for found in matches if found}, "\n".join(
        lines[end + 1 :]
    )

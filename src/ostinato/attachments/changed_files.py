"""Files the model has seen that somebody else has changed since: each change is told once, with what is different.

The content decides, by its hash; a file's times only say when to look again. Our own writes are known to the file state
and so are no news. Who was told the whole difference still knows the file; else the right to edit waits for a new Read.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec
from anyio import to_thread

from ostinato.attachments.change_snippet import change_snippet
from ostinato.attachments.file_text import NotRead, decoded, read_file_bytes
from ostinato.attachments.quoted_text import quoted, shown_name
from ostinato.attachments.told import path_key, told_keys
from ostinato.messages import KnownFile, Message, Reminder, attachment_message
from ostinato.ports import Ids, SeenFile
from ostinato.real_path import real_path

SOURCE: Final = "changed_files"
MAX_FILES: Final = 10
"""Told of at once; the rest comes the next time."""

MAX_WATCHED_BYTES: Final = 16 << 20
"""Larger files are not watched: an Edit still finds out by itself."""

MAX_KEPT_CHARACTERS: Final = 200_000
"""Of one old text, kept for the difference; changes of longer files are told without it."""

MAX_ALL_KEPT_CHARACTERS: Final = 2_000_000

Signature = tuple[int, int, int, int, int]


class SeenFileLog(Protocol):
    """A `FileState` that can also be gone through and made to forget."""

    def entries(self) -> Iterable[tuple[Path, SeenFile]]:
        """All files seen, in a fixed order."""
        ...

    def put(self, path: Path, seen: SeenFile) -> None: ...

    def forget(self, path: Path) -> None:
        """The file was never seen; no error if it was not."""
        ...


class OnDisk(msgspec.Struct, frozen=True):
    """A file as it was when last looked at. `text` is None for binary and for long files."""

    signature: Signature
    content_hash: str
    text: str | None


class Change(msgspec.Struct, frozen=True):
    """News of one file; `seen` is what the model knows of it from now on, None: nothing that counts."""

    path: Path
    text: str
    key: str
    seen: SeenFile | None


class ChangedFiles:
    """A collector. It keeps the texts of seen files between calls, to be able to say what is different."""

    def __init__(self, files: SeenFileLog, ids: Ids, *, may_read: Callable[[Path], bool]) -> None:
        self._files = files
        self._ids = ids
        self._may_read = may_read
        self._known: dict[Path, OnDisk] = {}
        self._is_first = True

    def at_once(self, view: Sequence[Message]) -> Sequence[Message] | None:
        """Nothing, where no file was seen."""
        del view
        return None if any(True for _ in self._files.entries()) else ()

    async def remember(self) -> None:
        """Keep what was just shown elsewhere than by a tool, before anything changes it. What has changed already is news later."""
        shown = {path: seen for path, seen in self._files.entries() if self._may_read(path)}
        unknown = [(path, seen) for path, seen in shown.items() if not self._knows(path, seen)]
        if not unknown:
            return
        _, found = await to_thread.run_sync(look, unknown, dict[Path, OnDisk](), abandon_on_cancel=True)
        kept = {path: file for path, file in found.items() if file.content_hash == shown[path].content_hash}
        self._known = {**self._known, **kept}

    def _knows(self, path: Path, seen: SeenFile) -> bool:
        known = self._known.get(path)
        return known is not None and known.content_hash == seen.content_hash

    async def __call__(self, view: Sequence[Message]) -> Sequence[Message]:
        """One reminder for each file that changed or is gone."""
        seen = [(path, known) for path, known in self._files.entries() if self._may_read(path)]
        if not seen:
            return ()
        changes, known = await to_thread.run_sync(look, seen, self._known, abandon_on_cancel=True)
        # From here on nothing waits: what was found is told and remembered, or neither.
        told = told_keys(view, SOURCE) if self._is_first and changes else frozenset[str]()
        self._known, self._is_first = known, False
        for change in changes:
            if change.seen is None:
                self._files.forget(change.path)
            else:
                self._files.put(change.path, change.seen)
        return [
            attachment_message(self._ids.uuid(), Reminder(SOURCE, change.text, change.key, _knows(change)))
            for change in changes
            if change.key not in told
        ]


def _knows(change: Change) -> KnownFile:
    path, seen = path_key(change.path), change.seen
    return KnownFile(path) if seen is None else KnownFile(path, seen.content_hash, seen.is_partial)


def look(
    seen: Sequence[tuple[Path, SeenFile]], known: dict[Path, OnDisk]
) -> tuple[list[Change], dict[Path, OnDisk]]:
    """What has changed, and what to remember for the next time. Blocking."""
    changes: list[Change] = []
    remembered: dict[Path, OnDisk] = {}
    room = MAX_ALL_KEPT_CHARACTERS
    for path, knowledge in seen:
        before = known.get(path)
        now = _on_disk(path, before)
        if isinstance(now, OnDisk) and now.content_hash != knowledge.content_hash:
            if len(changes) >= MAX_FILES:
                now = before
            else:
                changes.append(_changed(path, knowledge, before, now))
        elif isinstance(now, NotRead):
            if now.is_absent and len(changes) < MAX_FILES:
                changes.append(_gone(path))
            now = None
        if now is not None:
            room -= len(now.text or "")
            remembered[path] = now if room >= 0 else OnDisk(now.signature, now.content_hash, None)
    return changes, remembered


def _on_disk(path: Path, before: OnDisk | None) -> OnDisk | NotRead:
    if real_path(path) != path:
        return NotRead("a link stands in its place", is_absent=True)  # who leads where was never permitted
    if before is not None:
        try:
            if _signature(os.stat(path)) == before.signature:
                return before
        except OSError:
            pass  # reading says why
    read = read_file_bytes(path, max_bytes=MAX_WATCHED_BYTES)
    if isinstance(read, NotRead):
        return read
    text = decoded(read.data) if len(read.data) <= 4 * MAX_KEPT_CHARACTERS else None
    kept = text if text is not None and len(text) <= MAX_KEPT_CHARACTERS else None
    return OnDisk(_signature(read.facts), hashlib.sha256(read.data).hexdigest(), kept)


def _signature(facts: os.stat_result) -> Signature:
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _changed(path: Path, seen: SeenFile, before: OnDisk | None, now: OnDisk) -> Change:
    name = shown_name(path)
    key = f"{path_key(path)} {now.content_hash}"
    is_known = before is not None and before.content_hash == seen.content_hash
    old = before.text if before is not None and is_known else None
    if old is None or now.text is None:
        text = f"{name} has changed on disk since you saw it. Read it again before you rely on it."
        return Change(path, text, key, None)
    snippet = change_snippet(old, now.text)
    text = f"{name} has changed on disk since you saw it, by the user or a program; take it as meant."
    if not snippet.is_whole:
        more = " The difference begins so:" if snippet.text else ""
        text = f"{text} It is not shown whole: Read the file before you change it.{more}"
        return Change(path, f"{text}\n{quoted(snippet.text)}", key, None)
    known = SeenFile(now.content_hash, is_partial=seen.is_partial)
    difference = quoted(snippet.text) or "(only line ends or the encoding)"
    return Change(path, f"{text} The difference:\n{difference}", key, known)


def _gone(path: Path) -> Change:
    return Change(path, f"{shown_name(path)} is gone from the disk.", f"{path_key(path)} gone", None)

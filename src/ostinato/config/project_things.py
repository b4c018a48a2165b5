"""Everything a project supplies that could act, each with a digest of its content: what trust is bound to.

Promise: a thing that cannot be read, or that is too much to look at, is never left out: it has no digest and so no trust.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ostinato.config.merge import Document
from ostinato.config.places import ACTING_PARENTS, MCP_FILE, PROJECT_FOLDERS, Places
from ostinato.config.read_file import read_settings_file
from ostinato.config.settings_text import Read, read_settings_text
from ostinato.config.shape import is_list, is_object
from ostinato.config.source import PROJECT_LEVELS
from ostinato.real_path import real_path

ACTING_FILES: Final = (
    *(f"{folder}/{name}" for folder in PROJECT_FOLDERS for name in ("settings.json", "settings.local.json")),
    MCP_FILE,
)
ACTING_FOLDERS: Final = tuple(
    f"{folder}/{name}"
    for folder in ACTING_PARENTS
    for name in ("commands", "skills", "agents", "hooks", "plugins", "output-styles")
)
NAMING_KEYS: Final = ("hooks", "statusLine", "apiKeyHelper", "env", "mcpServers")
"""Settings whose texts may name a file of the project that would then be run or loaded."""

MAX_FILES: Final = 10_000
MAX_TOTAL_BYTES: Final = 256 << 20
_MAX_DEPTH: Final = 16

_PROJECT_VARIABLE: Final = re.compile(r"\$\{?(?:CLAUDE|OSTINATO)_PROJECT_DIR\b(?::-[^}]*)?\}?")
_QUOTED: Final = re.compile(r"\"([^\"]+)\"|'([^']+)'")
_BETWEEN_WORDS: Final = re.compile(r"[\s\"'`;|&()<>=,{}:]+")
_OPEN: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Things(msgspec.Struct, frozen=True):
    """`digests`: the name below the project root to a digest of content, link and executable bit; None: not readable.
    `contents`: the SHA-256 of the bytes alone, of what was found in a folder or named.

    Empty: the project supplies nothing that could act, so there is nothing to trust.
    """

    digests: Mapping[str, str | None]
    contents: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])

    def has_content(self, name: str, digest: str) -> bool:
        """Whether these are the very bytes of that thing, wherever a link led to them."""
        return self.contents.get(name) == digest


def scan_project(
    places: Places, documents: Sequence[Document] = (), already_read: Mapping[Path, str] | None = None
) -> Things:
    """Look at the project. `documents` and `already_read` are those of `load_settings`: trust is then bound to the very
    bytes that were read, not to what lies there a moment later.
    """
    root = real_path(places.project_root)
    scan = _Scan()
    not_the_projects = _folders_of_the_user(places, root)
    known = {real_path(path.parent) / path.name: digest for path, digest in (already_read or {}).items()}
    for name in ACTING_FILES:
        path = root / name
        if name.split("/")[0] in not_the_projects:
            continue
        digest = known.get(real_path(path.parent) / path.name)
        if digest is not None:
            scan.digests[name] = digest
        elif os.path.lexists(path):
            scan.add_settings(name, path)
    for name in ACTING_FOLDERS:
        if name.split("/")[0] not in not_the_projects and os.path.lexists(root / name):
            scan.add_tree(name, root / name, _MAX_DEPTH)
    for name in _named_files(root, documents):
        if name not in scan.digests:
            scan.add(name, root / name)
    return Things(scan.digests, scan.contents)


def _folders_of_the_user(places: Places, root: Path) -> set[str]:
    """In the home folder, what lies there is the user's own and needs no trust."""
    user = [folder for folder in (places.data_root, places.other_user_folder) if folder is not None]
    own = {real_path(folder.parent) / folder.name for folder in user}
    # a project's own link to such a folder does not make it the user's, so the last part is not resolved
    names = {name for name in PROJECT_FOLDERS if root / name in own}
    return names | {".agents"} if ".claude" in names else names


def is_unchanged(things: Things, project_root: Path, name: str) -> bool:
    """Whether the thing still is what it was; for a look right before it acts."""
    digest = things.digests.get(name)
    if digest is None:
        return False
    scan, path = _Scan(), real_path(project_root) / name
    if name in ACTING_FILES:
        scan.add_settings(name, path)
    else:
        scan.add(name, path)
    return scan.digests[name] == digest


class _Content(msgspec.Struct, frozen=True):
    digest: str
    is_executable: bool


class _Scan:
    def __init__(self) -> None:
        self.digests: dict[str, str | None] = {}
        self.contents: dict[str, str] = {}
        self._left_bytes = MAX_TOTAL_BYTES

    def add_settings(self, name: str, path: Path) -> None:
        """As `load_settings` sees it: content alone."""
        content = read_settings_file(path)
        self.digests[name] = hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else None

    def add_tree(self, name: str, path: Path, depth: int) -> None:
        """A file, or a folder with all that is in it; links are followed, and where they lead is part of the digest."""
        if len(self.digests) >= MAX_FILES or depth == 0:
            self.digests[name] = None
            return
        if not os.path.isdir(path):
            self.add(name, path)
            return
        if os.path.islink(path):
            self.digests[name] = f"link {os.readlink(path)!a}"
        try:
            below = sorted(os.listdir(path))
        except OSError:
            self.digests[name] = None
            return
        for child in below:
            if len(self.digests) > MAX_FILES:
                return
            self.add_tree(f"{name}/{child}", path / child, depth - 1)

    def add(self, name: str, path: Path) -> None:
        try:
            link = f"link {os.readlink(path)!a} " if os.path.islink(path) else ""
            content = self._content(path)
        except OSError:
            content, link = None, ""
        if content is None:
            self.digests[name] = None
            return
        self.contents[name] = content.digest
        self.digests[name] = link + content.digest + (" executable" if content.is_executable else "")

    def _content(self, path: Path) -> _Content | None:
        descriptor = os.open(path, _OPEN)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            digest = hashlib.sha256()
            while part := os.read(descriptor, 1 << 20):
                digest.update(part)
                self._left_bytes -= len(part)
                if self._left_bytes < 0:
                    return None
        finally:
            os.close(descriptor)
        return _Content(digest.hexdigest(), is_executable=bool(status.st_mode & 0o111))


def _named_files(root: Path, documents: Iterable[Document]) -> Iterator[str]:
    """Files inside the project that hooks, helpers and servers name. What those files load in turn is not looked at."""
    data: list[Mapping[str, object]] = [
        document.data for document in documents if document.source.level in PROJECT_LEVELS
    ]
    content = read_settings_file(root / MCP_FILE)
    servers = read_settings_text(content) if isinstance(content, bytes) else None
    if isinstance(servers, Read):
        data.append(servers.data)
    for value in data:
        for key in NAMING_KEYS:
            for text in _texts(value.get(key)):
                yield from files_named_in(text, root)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for below in value.values():
            yield from _texts(below)
    elif is_list(value):
        for below in value:
            yield from _texts(below)


def files_named_in(text: str, root: Path) -> Iterator[str]:
    """The files inside the project that a text names, below its root."""
    expanded = _PROJECT_VARIABLE.sub(lambda _: str(root), text)
    quoted = [first or second for first, second in _QUOTED.findall(expanded)]
    for word in (expanded, *quoted, *_BETWEEN_WORDS.split(expanded)):
        if not word or "\0" in word:
            continue
        # the name as written and where it leads: `link/../x` is not `x`, and a link may be bent
        for path in (os.path.normpath(root / word), str(real_path(root / word))):
            if path.startswith(os.path.join(root, "")) and os.path.isfile(path):
                yield os.path.relpath(path, root)

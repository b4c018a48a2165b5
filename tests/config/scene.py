"""A home and a project in a temporary folder, and settings files in them."""

import json
from pathlib import Path

from ostinato.config.load import Loaded, load_settings
from ostinato.config.places import Places
from ostinato.config.project_things import Things, scan_project
from ostinato.config.settings_text import Unreadable
from ostinato.config.trust import TrustState, trust_state


class Scene:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.data_root = self.home / ".ostinato"
        self.project = folder / "project"
        for made in (self.home, self.project / ".git"):
            made.mkdir(parents=True)
        self.places = Places(
            self.project,
            self.data_root,
            self.home / ".claude",
            (folder / "etc" / "ostinato", folder / "etc" / "claude-code"),
        )

    def write(self, name: str, content: object) -> Path:
        """A file of the project: text as it is, anything else as JSON."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def load(self) -> Loaded:
        return load_settings(self.places)

    def scan(self) -> Things:
        loaded = self.load()
        return scan_project(self.places, loaded.documents, loaded.project_digests)

    def state(self) -> TrustState:
        return trust_state(self.data_root, self.project, self.scan())


PLACES = Places(
    Path("/project"), Path("/home/.ostinato"), Path("/home/.claude"), (Path("/etc/ours"), Path("/etc/other"))
)

FILES = {
    "managed": "/etc/ours/managed-settings.json",
    "managed drop-in": "/etc/ours/managed-settings.d/10-a.json",
    "managed later drop-in": "/etc/ours/managed-settings.d/20-b.json",
    "other managed": "/etc/other/managed-settings.json",
    "local": "/project/.ostinato/settings.local.json",
    "other local": "/project/.claude/settings.local.json",
    "project": "/project/.ostinato/settings.json",
    "other project": "/project/.claude/settings.json",
    "user": "/home/.ostinato/settings.json",
    "other user": "/home/.claude/settings.json",
}


def in_memory(files: dict[str, object], **more: object) -> Loaded:
    """Load from a mapping of paths (or names of `FILES`) to objects, text or bytes; no disk is touched."""
    contents = {FILES.get(name, name): _bytes(content) for name, content in files.items()}

    def read(path: Path) -> bytes | Unreadable | None:
        return contents.get(str(path))

    def list_drop_ins(folder: Path) -> tuple[Path, ...]:
        return tuple(sorted((Path(name) for name in contents if Path(name).parent == folder), reverse=True))

    return load_settings(PLACES, read=read, list_drop_ins=list_drop_ins, **more)  # pyright: ignore[reportArgumentType] - the tests' own keywords


def _bytes(content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    return content.encode() if isinstance(content, str) else json.dumps(content).encode()

"""Which files a conversation has seen, in memory."""

from pathlib import Path

from ostinato.ports import SeenFile


class MemoryFiles:
    """The FileState port over a plain dictionary, `seen`."""

    def __init__(self) -> None:
        self.seen: dict[Path, SeenFile] = {}

    def get(self, path: Path) -> SeenFile | None:
        return self.seen.get(path)

    def put(self, path: Path, seen: SeenFile) -> None:
        self.seen[path] = seen

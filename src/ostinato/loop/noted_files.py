"""A call's file state: what it puts there is noted, so that the record of the call's end can tell a resume."""

from pathlib import Path

from ostinato.call_ports import FileState, SeenFile
from ostinato.codec import sanitise
from ostinato.messages import KnownFile


class NotedFiles:
    """Implements the `FileState` port over another. Tools may call it from a thread."""

    def __init__(self, files: FileState) -> None:
        self._files = files
        self._noted: dict[Path, SeenFile] = {}

    def get(self, path: Path) -> SeenFile | None:
        return self._files.get(path)

    def put(self, path: Path, seen: SeenFile) -> None:
        self._files.put(path, seen)
        self._noted[path] = seen

    def noted(self) -> tuple[KnownFile, ...]:
        """What was put, as a record can hold it."""
        return tuple(
            KnownFile(sanitise(str(path)), seen.content_hash, seen.is_partial)
            for path, seen in self._noted.items()
        )

"""Which files a conversation has seen: the last hundred, enough for the right to edit (semantics §17)."""

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from ostinato.ports import SeenFile

MAX_ENTRIES = 100


class SeenFiles:
    """Implements the `FileState` port; the least recently used entry goes first."""

    def __init__(self) -> None:
        self._seen: OrderedDict[Path, SeenFile] = OrderedDict()

    def get(self, path: Path) -> SeenFile | None:
        seen = self._seen.get(path)
        if seen is not None:
            self._seen.move_to_end(path)
        return seen

    def put(self, path: Path, seen: SeenFile) -> None:
        self._seen[path] = seen
        self._seen.move_to_end(path)
        if len(self._seen) > MAX_ENTRIES:
            self._seen.popitem(last=False)

    def entries(self) -> Iterable[tuple[Path, SeenFile]]:
        """Every file seen, in a fixed order."""
        return tuple(self._seen.items())

    def forget(self, path: Path) -> None:
        self._seen.pop(path, None)

"""Which files a conversation has seen: the last hundred, enough for the right to edit (semantics §17). A resume finds them again in
the session's records, by the hashes that were written with each call: what has changed since is not taken for seen.
"""

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from ostinato.messages import AttachmentMessage, KnownFile, Reminder, ToolResult, UserMessage
from ostinato.ports import SeenFile
from ostinato.records import FileIntended, Record, ToolFinished

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


def seen_in(records: Iterable[Record]) -> SeenFiles:
    """What the conversation that left these records had seen at their end, whatever of it was hidden since.

    Records older than `ToolFinished.knows`, and a crash just before it, leave what was written to a file, as a part of it: that gives
    the right to Edit. What was only read counts as unread there.
    """
    known: dict[str, KnownFile] = {}
    intended: dict[str, FileIntended] = {}
    for record in records:
        if isinstance(record, ToolFinished):
            for one in record.knows:
                _take(known, one)
        elif isinstance(record, FileIntended):
            intended[record.tool_use_id] = record
        elif intended and isinstance(record, UserMessage):
            _take_written(known, record, intended)
        elif isinstance(record, AttachmentMessage):
            told = record.attachment
            if isinstance(told, Reminder) and told.knows is not None:
                _take(known, told.knows)
    files = SeenFiles()
    for one in list(known.values())[-MAX_ENTRIES:]:
        files.put(Path(one.path), SeenFile(one.content_hash, is_partial=one.is_partial))
    return files


def _take_written(
    known: dict[str, KnownFile], message: UserMessage, intended: dict[str, FileIntended]
) -> None:
    for block in message.content:
        if isinstance(block, ToolResult):
            written = intended.pop(block.tool_use_id, None)
            if written is not None and not block.is_error:
                _take(known, KnownFile(written.path, written.after, is_partial=True))


def _take(known: dict[str, KnownFile], one: KnownFile) -> None:
    """The newest stands last."""
    known.pop(one.path, None)
    if one.content_hash:
        known[one.path] = one

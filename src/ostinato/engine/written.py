"""A journal that also remembers what one query wrote, so that the history is whole even when the consumer walked away."""

from collections.abc import Callable

from ostinato.engine.costs import Spent
from ostinato.messages import AttachmentMessage, QueuedCommand
from ostinato.ports import Journal
from ostinato.records import Attempt, Boundary, Record, ResponseEnded


class WrittenRecords:
    """Implements the `Journal` port over another; `records` is what was written through it, `spent` counts its responses.
    `on_boundary` is told of each summary of the conversation: what it hides need not be remembered.
    """

    def __init__(self, journal: Journal, spent: Spent, on_boundary: Callable[[], None]) -> None:
        self._journal = journal
        self._spent = spent
        self._on_boundary = on_boundary
        self._joined: list[str] = []
        self.records: list[Record] = []

    def write(self, record: Record) -> None:
        self._journal.write(record)
        self.records.append(record)
        if isinstance(record, AttachmentMessage) and isinstance(record.attachment, QueuedCommand):
            self._joined.append(record.uuid)
        if isinstance(record, Boundary):
            self._on_boundary()
        if isinstance(record, ResponseEnded | Attempt):
            self._spent.add(record.model, record.usage)

    async def sync(self) -> None:
        await self._journal.sync()

    def joined(self) -> tuple[str, ...]:
        """Which queued prompts the query took up."""
        return tuple(self._joined)

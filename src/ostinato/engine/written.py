"""A journal that also remembers what one query wrote, so that the history is whole even when the consumer walked away."""

from ostinato.engine.costs import Spent
from ostinato.messages import AttachmentMessage, QueuedCommand
from ostinato.ports import Journal
from ostinato.records import Attempt, Record, ResponseEnded


class WrittenRecords:
    """Implements the `Journal` port over another; `records` is what was written through it, `spent` counts its responses."""

    def __init__(self, journal: Journal, spent: Spent) -> None:
        self._journal = journal
        self._spent = spent
        self.records: list[Record] = []

    def write(self, record: Record) -> None:
        self._journal.write(record)
        self.records.append(record)
        if isinstance(record, ResponseEnded | Attempt):
            self._spent.add(record.model, record.usage)

    async def sync(self) -> None:
        await self._journal.sync()

    def joined(self) -> tuple[str, ...]:
        """Which queued prompts the query took up."""
        return tuple(
            record.uuid
            for record in self.records
            if isinstance(record, AttachmentMessage) and isinstance(record.attachment, QueuedCommand)
        )

"""A journal that also remembers what one query wrote, so that the history is whole even when the consumer walked away."""

from ostinato.ports import Journal
from ostinato.records import Record


class WrittenRecords:
    """Implements the `Journal` port over another; `records` is what was written through it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.records: list[Record] = []

    def write(self, record: Record) -> None:
        self._journal.write(record)
        self.records.append(record)

    async def sync(self) -> None:
        await self._journal.sync()

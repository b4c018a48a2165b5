"""A journal in memory that can fail at a chosen write."""

from collections.abc import Callable

import anyio.lowlevel

from ostinato.errors import JournalError
from ostinato.records import Record


class MemoryJournal:
    """The Journal port. `records` is what was written, `synced` how many of them the last sync made safe.

    `fail_at_write` (from 1) makes that write and every later one raise `JournalError`; `fail_at_sync` the same for
    syncs. `on_write` is told of each record right after it was written.
    """

    def __init__(
        self,
        *,
        fail_at_write: int | None = None,
        fail_at_sync: int | None = None,
        on_write: Callable[[Record], None] | None = None,
    ) -> None:
        self.records: list[Record] = []
        self.synced = 0
        self.writes = 0
        self.syncs = 0
        self._fail_at_write = fail_at_write
        self._fail_at_sync = fail_at_sync
        self._on_write = on_write

    def write(self, record: Record) -> None:
        self.writes += 1
        if self._fail_at_write is not None and self.writes >= self._fail_at_write:
            raise JournalError(f"write {self.writes} failed, as the test wanted")
        self.records.append(record)
        if self._on_write is not None:
            self._on_write(record)

    async def sync(self) -> None:
        self.syncs += 1
        await anyio.lowlevel.checkpoint()
        if self._fail_at_sync is not None and self.syncs >= self._fail_at_sync:
            raise JournalError(f"sync {self.syncs} failed, as the test wanted")
        self.synced = len(self.records)

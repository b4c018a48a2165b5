"""The one way to be seen: a message, result or transition is written to the journal first and shown after.

A batch whose sending was cancelled stays pending and is shown later, so that history and screen agree.
"""

from collections.abc import Sequence

from ostinato.errors import JournalError
from ostinato.events import Event, StreamEvent, Tombstone
from ostinato.loop.deps import Emit, Offer
from ostinato.ports import Journal
from ostinato.records import AnyEdit, Record, Retract


class Ledger:
    """Collects, in order, what one pass writes (`records`), and shows it in batches."""

    def __init__(self, journal: Journal, emit: Emit, offer: Offer) -> None:
        self._journal = journal
        self._emit = emit
        self._offer = offer
        self._pending: list[Event] = []
        self._failure: JournalError | None = None
        self.records: list[Record] = []

    def record(self, record: Record, event: Event | None = None) -> None:
        """Write now, synchronously; `event` is shown with the next `show()`. Raises JournalError, from the first on always."""
        if self._failure is not None:
            raise self._failure
        try:
            self._journal.write(record)
        except JournalError as error:
            self._failure = error
            raise
        self.records.append(record)
        if event is not None:
            self._pending.append(event)

    def edit(self, *edits: AnyEdit) -> None:
        """Write the edits; of what they retract, a tombstone for each message is shown with the next `show()`."""
        for edit in edits:
            if isinstance(edit, Retract):
                self.retract(edit, edit.ids)
            else:
                self.record(edit)

    def retract(self, edit: Retract, shown: Sequence[str]) -> None:
        """Write it; of its messages only these were shown."""
        self.record(edit)
        self._pending.extend(Tombstone(uuid) for uuid in shown)

    def stream(self, event: StreamEvent) -> None:
        """A delta: shown with the next `show()`, never stored."""
        self._pending.append(event)

    async def show(self) -> None:
        """Hand everything pending to the consumer; waits while it is behind."""
        batch = self._pending
        if not batch:
            return
        self._pending = []
        try:
            await self._emit(batch)
        except BaseException:
            self._pending = [*batch, *self._pending]
            raise

    async def record_then_emit(self, *pairs: tuple[Record, Event]) -> None:
        for record, event in pairs:
            self.record(record, event)
        await self.show()

    async def emit(self, *events: Event) -> None:
        """For events that stand for nothing stored: request starts and the like."""
        self._pending.extend(events)
        await self.show()

    def progress(self, event: Event) -> None:
        """Show at once if the consumer keeps up, else drop it."""
        self._offer(event)

    def taken(self) -> Sequence[Record]:
        """What was written since the last call; the transition appends it to the history."""
        records, self.records = self.records, []
        return records

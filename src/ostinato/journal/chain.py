"""Which message a transcript reader takes for the one before: the last that was written and not retracted since.

This chain is for those readers alone; ostinato itself folds records in the order of the file.
"""

from collections.abc import Iterable
from typing import Final

from ostinato.messages import Message
from ostinato.records import Fact, Record, Retract

MAX_REMEMBERED: Final = 1_000
"""Of the newest messages, so that a session of days does not remember every one; nothing takes back so many."""


class Chain:
    """The uuids of a session's newest messages, oldest first."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._uuids: list[str] = []
        self.last: str | None = None
        for record in records:
            self.follow(record)

    def follow(self, record: Record) -> None:
        """Take in a record that was written."""
        if isinstance(record, Fact):  # by far the most
            return
        if isinstance(record, Retract):
            gone = frozenset(record.ids)
            self._uuids = [uuid for uuid in self._uuids if uuid not in gone]
            self.last = self._uuids[-1] if self._uuids else None
        elif isinstance(record, Message):
            self._uuids.append(record.uuid)
            self.last = record.uuid
            if len(self._uuids) > MAX_REMEMBERED:
                del self._uuids[: MAX_REMEMBERED // 2]

"""Writes for the queue of a conversation; who waits for a text that is taken back hears of it."""

from collections.abc import Callable

from ostinato.ports import Journal
from ostinato.records import QueueTaken, Record


class QueueWriter:
    """Writes for the queue; who waits for a text that is taken back hears of it."""

    def __init__(self, journal: Journal) -> None:
        self.taken_back: Callable[..., None] = hears_nothing
        self._journal = journal

    def __call__(self, record: Record) -> None:
        self._journal.write(record)
        if isinstance(record, QueueTaken) and record.how == "taken_back":
            self.taken_back(*record.prompt_uuids)


def hears_nothing(*_uuids: str) -> None:
    """Nobody listens."""

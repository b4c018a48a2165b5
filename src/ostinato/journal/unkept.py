"""A journal that keeps nothing, for a machine without a writable home: the run goes on and says so."""

import msgspec

from ostinato.journal.read import Scan
from ostinato.records import Record


class MemoryOnly:
    """Implements the Journal port by forgetting; the history in memory is all there is."""

    @property
    def path(self) -> None:
        """There is no file."""
        return

    def write(self, record: Record) -> None:
        """Accepted and not kept."""

    async def sync(self) -> None:
        """There is nothing to sync."""

    def close(self) -> None:
        """There is nothing to close."""


class Unkept(msgspec.Struct, frozen=True):
    """The session cannot be kept; `reason` is one sentence for the user. `found` is what it held, if it is resumed."""

    reason: str
    journal: MemoryOnly
    found: Scan = msgspec.field(default_factory=Scan)

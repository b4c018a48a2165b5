"""Real time and real identifiers, for the ports of the loop."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

import anyio

from ostinato.loop.alarms import shared_alarms


class SystemClock:
    """Implements the `Clock` port."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC).astimezone()

    def utc_now(self) -> datetime:
        """The same moment; for records, which are stamped in UTC and are many."""
        return datetime.now(UTC)

    def set_alarm(self, after_s: float, ring: Callable[[], None]) -> Callable[[], None]:
        """Implements the loop's `SetAlarm`, in a running query."""
        return shared_alarms(self).set(after_s, ring)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class RandomIds:
    """Implements the `Ids` port."""

    def uuid(self) -> str:
        """Version 4 (RFC 9562), as `uuid.uuid4` makes it in more than twice the time; a query needs a dozen."""
        bits = os.urandom(16).hex()
        variant = "89ab"[int(bits[16], 16) & 3]
        return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-{variant}{bits[17:20]}-{bits[20:]}"

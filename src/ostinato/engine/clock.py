"""Real time and real identifiers, for the ports of the loop."""

import time
import uuid
from datetime import UTC, datetime

import anyio


class SystemClock:
    """Implements the `Clock` port."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC).astimezone()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class RandomIds:
    """Implements the `Ids` port."""

    def uuid(self) -> str:
        return str(uuid.uuid4())

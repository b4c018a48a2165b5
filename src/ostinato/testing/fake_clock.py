"""Virtual time: nothing waits for real, and the test says when time passes."""

from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel

FIRST_MOMENT = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


class FakeClock:
    """The Clock port in virtual time.

    With `auto_advance` a sleep takes no real time and moves the clock itself; do not use that where a sleep races
    something as a deadline. Without it sleepers wait for `advance`. `slept` holds every duration asked for, in seconds.
    """

    def __init__(self, *, auto_advance: bool = False, start: datetime = FIRST_MOMENT) -> None:
        self.slept: list[float] = []
        self._auto_advance = auto_advance
        self._start = start
        self._elapsed_s = 0.0
        self._sleepers: list[tuple[float, anyio.Event]] = []
        self._arrivals: list[tuple[int, anyio.Event]] = []

    @property
    def sleepers(self) -> int:
        """How many wait for the clock right now."""
        return len(self._sleepers)

    def monotonic_s(self) -> float:
        return self._elapsed_s

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_s)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self._auto_advance or seconds <= 0:
            self.advance(max(0.0, seconds))
            await anyio.lowlevel.checkpoint()
            return
        sleeper = (self._elapsed_s + seconds, anyio.Event())
        self._sleepers.append(sleeper)
        self._announce()
        try:
            await sleeper[1].wait()
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        """Let that much time pass; who was due by then wakes up, the earliest first."""
        self._elapsed_s += seconds
        due = sorted((one for one in self._sleepers if one[0] <= self._elapsed_s), key=lambda one: one[0])
        self._sleepers = [one for one in self._sleepers if one[0] > self._elapsed_s]
        for _, event in due:
            event.set()

    async def until_sleeping(self, count: int = 1) -> None:
        """Wait until at least `count` sleepers wait for the clock."""
        if self.sleepers >= count:
            return
        arrival = (count, anyio.Event())
        self._arrivals.append(arrival)
        await arrival[1].wait()

    def _announce(self) -> None:
        for arrival in [one for one in self._arrivals if one[0] <= self.sleepers]:
            self._arrivals.remove(arrival)
            arrival[1].set()

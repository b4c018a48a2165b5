"""Calls that have their result while their work goes on: a thread that nobody can stop, a task that does not end. What conflicts with
one waits for it a while, and begins beside it then.
"""

from typing import Final

import anyio
import msgspec

from ostinato.loop.access import Touched
from ostinato.ports import Clock
from ostinato.tool import Ended

HOLD_S: Final = 30.0
"""Counted from the result. Most of such work ends soon after its time; what hangs for ever must not hold a query for ever."""


class _Work(msgspec.Struct, eq=False):
    touched: Touched
    ended: Ended
    until_s: float


class StillRunning:
    """One for all queries of an engine, and what they start."""

    def __init__(self) -> None:
        self._works: list[_Work] = []

    def add(self, touched: Touched, ended: Ended, now_s: float) -> None:
        """`ended` is set in the event loop once the work is over."""
        self._works.append(_Work(touched, ended, now_s + HOLD_S))

    def is_in_the_way_of(self, touched: Touched) -> bool:
        """Whether a call that touches this may have to wait; cheap where nothing runs on."""
        return bool(self._works) and any(work.touched.conflicts_with(touched) for work in self._works)

    async def out_of_the_way(self, touched: Touched, clock: Clock) -> None:
        """Wait until nothing that conflicts runs on, or has held long enough."""
        while (work := self._first(touched, clock.monotonic_s())) is not None:
            await _ended_or_late(work, clock)

    def _first(self, touched: Touched, now_s: float) -> _Work | None:
        self._works = [work for work in self._works if not work.ended.is_set() and work.until_s > now_s]
        return next((work for work in self._works if work.touched.conflicts_with(touched)), None)


async def _ended_or_late(work: _Work, clock: Clock) -> None:
    async with anyio.create_task_group() as tasks:

        async def wait_no_longer() -> None:
            await clock.sleep(max(0.0, work.until_s - clock.monotonic_s()))
            tasks.cancel_scope.cancel()

        tasks.start_soon(wait_no_longer)
        await work.ended.wait()
        tasks.cancel_scope.cancel()

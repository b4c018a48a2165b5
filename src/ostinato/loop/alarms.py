"""Calls back when a time has come. However many alarms are set, one task waits for the next of them, and none when none is set."""

import math
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from ostinato.ports import Clock

StartSoon = Callable[[Callable[[], Awaitable[None]]], object]


class Alarms:
    """`start_soon` starts the task that waits; a callback is synchronous and raises nothing."""

    def __init__(self, start_soon: StartSoon, clock: Clock) -> None:
        self._start_soon = start_soon
        self._clock = clock
        self._due: dict[int, tuple[float, Callable[[], None]]] = {}
        self._next = 0
        self._waits_until_s: float | None = None
        self._scope = anyio.CancelScope()

    def set(self, after_s: float, ring: Callable[[], None]) -> Callable[[], None]:
        """Ring once, after so many seconds; never for `math.inf`. Returns how to take it back."""
        if math.isinf(after_s):
            return _nothing
        key, self._next = self._next, self._next + 1
        due_s = self._clock.monotonic_s() + after_s
        self._due[key] = (due_s, ring)
        if self._waits_until_s is None:
            self._waits_until_s = due_s
            self._start_soon(self._wait)
        elif due_s < self._waits_until_s:
            self._scope.cancel()
        return partial(self._take_back, key)

    def _take_back(self, key: int) -> None:
        self._due.pop(key, None)
        if not self._due:
            self._scope.cancel()

    async def _wait(self) -> None:
        try:
            while self._due:
                await self._wait_for_next()
        finally:
            self._waits_until_s = None

    async def _wait_for_next(self) -> None:
        self._waits_until_s = min(due_s for due_s, _ in self._due.values())
        with anyio.CancelScope() as self._scope:
            await self._clock.sleep(max(0.0, self._waits_until_s - self._clock.monotonic_s()))
        now_s = self._clock.monotonic_s()
        for key in [key for key, (due_s, _) in self._due.items() if due_s <= now_s]:
            due = self._due.pop(key, None)
            if due is not None:
                due[1]()


def _nothing() -> None:
    return

"""Calls back when a time has come. However many alarms are set, one task waits for the next of them, and none when none is set."""

import math
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import anyio
from anyio.lowlevel import RunVar

from ostinato.loop.ownership import start_beside_runs
from ostinato.ports import Clock

StartSoon = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]

SetAlarm = Callable[[float, Callable[[], None]], Callable[[], None]]
"""`Alarms.set`."""

IDLE_S = 60.0
"""How long a task that stays waits for a next alarm."""


class Alarms:
    """`start_soon` starts the task that waits; a callback is synchronous and raises nothing. With `keeps_waiting` the task stays a
    while when no alarm is left, for the next one.
    """

    def __init__(self, start_soon: StartSoon, clock: Clock, *, keeps_waiting: bool = False) -> None:
        self._start_soon = start_soon
        self._clock = clock
        self._keeps_waiting = keeps_waiting
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
        if not self._due and not self._keeps_waiting:
            self._scope.cancel()

    async def _wait(self) -> None:
        try:
            while self._due or self._keeps_waiting:
                await self._wait_for_next()
                if not self._due:
                    return
        finally:
            self._waits_until_s = None

    async def _wait_for_next(self) -> None:
        idle_until_s = self._clock.monotonic_s() + IDLE_S
        self._waits_until_s = min((due_s for due_s, _ in self._due.values()), default=idle_until_s)
        with anyio.CancelScope() as self._scope:
            await self._clock.sleep(max(0.0, self._waits_until_s - self._clock.monotonic_s()))
        now_s = self._clock.monotonic_s()
        for key in [key for key, (due_s, _) in self._due.items() if due_s <= now_s]:
            due = self._due.pop(key, None)
            if due is not None:
                due[1]()


_shared: RunVar[Alarms | None] = RunVar("ostinato_alarms", default=None)


def shared_alarms(clock: Clock) -> Alarms:
    """Those of all queries on this event loop: one task waits, however many calls run. For real time alone: `clock` is that of
    whoever asks first. Only a running query may set one.
    """
    alarms = _shared.get()
    if alarms is None:
        alarms = Alarms(start_beside_runs, clock, keeps_waiting=True)
        _shared.set(alarms)
    return alarms


def _nothing() -> None:
    return

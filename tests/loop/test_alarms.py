"""Alarms that all queries of an event loop share: one task waits for them, and none is left when the last query has ended."""

import anyio
import pytest

from ostinato.loop.alarms import shared_alarms
from ostinato.loop.ownership import start_beside_runs, start_owned
from ostinato.testing import FakeClock


class Runs:
    """Runs of one event loop that each set an alarm and wait until it has rung."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.rung: list[float] = []
        self.ended = 0
        self.all_ended = anyio.Event()

    async def start(self, *seconds: float) -> None:
        for after_s in seconds:
            await start_owned(lambda after_s=after_s: self._run(after_s, len(seconds)))

    async def _run(self, after_s: float, count: int) -> None:
        rung = anyio.Event()

        def ring() -> None:
            self.rung.append(after_s)
            rung.set()

        shared_alarms(self.clock).set(after_s, ring)
        await rung.wait()
        self.ended += 1
        if self.ended == count:
            self.all_ended.set()


async def test_one_task_waits_for_the_alarms_of_all_runs_and_each_rings_in_its_time():
    runs = Runs()
    await runs.start(30.0, 10.0, 20.0)
    await anyio.wait_all_tasks_blocked()
    assert runs.clock.sleepers == 1
    for seconds in (10.0, 20.0, 30.0):
        runs.clock.advance(10.0)
        await anyio.wait_all_tasks_blocked()
        assert runs.rung[-1] == seconds
    with anyio.fail_after(5):
        await runs.all_ended.wait()


async def test_when_the_last_run_has_ended_nobody_waits_and_the_next_run_begins_anew():
    runs = Runs()
    for _ in range(2):
        await runs.start(10.0)
        await anyio.wait_all_tasks_blocked()
        shared_alarms(runs.clock).set(100.0, lambda: None)()
        runs.clock.advance(10.0)
        await anyio.wait_all_tasks_blocked()
        assert runs.clock.sleepers == 0
    assert runs.rung == [10.0, 10.0]


async def test_an_alarm_that_was_taken_back_does_not_ring_and_the_task_stays_for_the_next():
    clock, rung = FakeClock(), list[str]()
    begun, over = anyio.Event(), anyio.Event()

    async def run() -> None:
        shared_alarms(clock).set(10.0, lambda: rung.append("taken back"))()
        begun.set()
        await over.wait()

    await start_owned(run)
    await begun.wait()
    await anyio.wait_all_tasks_blocked()
    assert clock.sleepers == 1
    shared_alarms(clock).set(20.0, lambda: rung.append("next"))
    await anyio.wait_all_tasks_blocked()
    assert clock.sleepers == 1
    clock.advance(20.0)
    await anyio.wait_all_tasks_blocked()
    over.set()
    assert rung == ["next"]


async def test_nothing_can_be_started_beside_runs_where_there_are_none():
    async def nothing() -> None:
        return

    with pytest.raises(RuntimeError, match="no run"):
        start_beside_runs(nothing)

"""Work beside the passes of a query: one piece at a time, and none of it outlives the query."""

from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest

from ostinato.loop.beside import Beside


class Work:
    """Goes on until it is let go; `at_once` is how many went on together, `ended` how many came to an end."""

    def __init__(self) -> None:
        self.go = anyio.Event()
        self.running = 0
        self.at_once = 0
        self.ended = 0

    async def __call__(self) -> None:
        self.running += 1
        self.at_once = max(self.at_once, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
            self.ended += 1


async def test_a_second_piece_begins_only_when_the_first_is_over():
    beside, work = Beside(), Work()
    async with anyio.create_task_group() as group:
        beside.open(group)
        assert beside.begin(work)
        await anyio.wait_all_tasks_blocked()
        assert not beside.begin(work)
        work.go.set()
        await anyio.wait_all_tasks_blocked()
        assert beside.begin(work)
    assert (work.at_once, work.ended) == (1, 2)


async def test_the_end_stops_what_goes_on_waits_for_it_and_lets_nothing_begin():
    beside, work = Beside(), Work()
    async with anyio.create_task_group() as group:
        beside.open(group)
        beside.begin(work)
        await anyio.wait_all_tasks_blocked()
        await beside.stop()
        assert (work.running, work.ended) == (0, 1)
        assert not beside.begin(work)


async def test_before_there_is_a_query_nothing_begins_and_its_end_waits_for_nothing():
    beside = Beside()
    assert not beside.begin(Work())
    await beside.stop()


async def fails() -> None:
    await anyio.lowlevel.checkpoint()
    raise OSError("the disk is full")


async def query_with(work: Callable[[], Awaitable[None]]) -> None:
    beside = Beside()
    async with anyio.create_task_group() as group:
        beside.open(group)
        beside.begin(work)


async def test_what_goes_wrong_in_it_ends_the_query():
    with pytest.RaisesGroup(OSError):
        await query_with(fails)

"""A turn's tasks live in the group of the query, and are waited for at the end of the turn."""

from functools import partial

import anyio

from ostinato.loop.turn_tasks import TurnTasks


async def test_the_end_of_a_turn_waits_for_its_last_task_and_leaves_the_group_open():
    first, last = anyio.Event(), anyio.Event()
    order: list[str] = []

    async def turn(tasks: TurnTasks) -> None:
        await tasks.ended()
        order.append("turn")

    async def work(until: anyio.Event, name: str) -> None:
        await until.wait()
        order.append(name)

    async with anyio.create_task_group() as group:
        tasks = TurnTasks(group)
        tasks.start_soon(partial(work, first, "first"))
        tasks.start_soon(partial(work, last, "last"))
        group.start_soon(turn, tasks)
        first.set()
        await anyio.wait_all_tasks_blocked()
        assert order == ["first"]
        last.set()
        await anyio.wait_all_tasks_blocked()
        assert order == ["first", "last", "turn"]
        await TurnTasks(group).ended()

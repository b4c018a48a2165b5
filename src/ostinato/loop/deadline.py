"""The time limit of a query: when it is over, everything that runs for the query is told to stop, and the query ends in order."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from ostinato.loop.budget import Budget
from ostinato.ports import Abort, Clock


@asynccontextmanager
async def within_time(budget: Budget, clock: Clock, abort: Abort) -> AsyncGenerator[None, None]:
    """Abort with the reason `timeout` when the budget, whose time counts meanwhile, has none left for the block."""
    remaining_s = budget.remaining_s
    if remaining_s is None:
        yield
        return
    watch = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_in, remaining_s, clock, abort, watch)
        try:
            yield
        finally:
            watch.cancel()


async def _stop_in(seconds: float, clock: Clock, abort: Abort, scope: anyio.CancelScope) -> None:
    with scope:
        await clock.sleep(max(0.0, seconds))
        abort.abort("timeout")

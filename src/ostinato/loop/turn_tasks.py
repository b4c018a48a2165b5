"""The tasks of one turn inside the group of its query: a query opens one group, and still no task outlives its turn."""

from collections.abc import Awaitable, Callable
from typing import TypeVarTuple

import anyio
from anyio.abc import TaskGroup

Arguments = TypeVarTuple("Arguments")


class TurnTasks:
    """`group` outlives the turn; what fails in a task fails the whole query."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._running = 0
        self._none_left: anyio.Event | None = None

    def start_soon(self, body: Callable[[*Arguments], Awaitable[None]], *arguments: *Arguments) -> None:
        self._running += 1
        self._group.start_soon(self._run, body, *arguments)

    async def ended(self) -> None:
        """Wait until no task is left. A cancelled wait leaves what still runs to the group."""
        if self._running:
            self._none_left = anyio.Event()
            await self._none_left.wait()

    async def _run(self, body: Callable[[*Arguments], Awaitable[None]], *arguments: *Arguments) -> None:
        try:
            await body(*arguments)
        finally:
            self._running -= 1
            if not self._running and self._none_left is not None:
                self._none_left.set()

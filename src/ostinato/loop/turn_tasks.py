"""The tasks of one turn inside the group of its query: a query opens one group, and no task outlives its turn but one that was
given up: it was told to end and did not.
"""

import logging
from collections.abc import Awaitable, Callable

import anyio
import msgspec
from anyio.abc import TaskGroup


class TurnTask(msgspec.Struct, eq=False):
    """A task of a turn; `name` is for the log, should it be given up."""

    name: str
    is_over: bool = False
    is_given_up: bool = False


class TurnTasks:
    """`group` outlives the turn; what fails in a task fails the whole query."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._running = 0
        self._none_left: anyio.Event | None = None
        self.given_up: list[TurnTask] = []

    def start_soon(self, body: Callable[[], Awaitable[None]], name: str = "") -> TurnTask:
        task = TurnTask(name)
        self._running += 1
        self._group.start_soon(self._run, task, body)
        return task

    def give_up(self, task: TurnTask) -> None:
        """Nobody waits for it any more. What ends it all the same is logged."""
        if task.is_over or task.is_given_up:
            return
        task.is_given_up = True
        self.given_up.append(task)
        logging.getLogger("ostinato").warning("%s was told to end and did not; it is given up", task.name)
        self._one_less()

    async def ended(self) -> None:
        """Wait until no task is left that was not given up. A cancelled wait leaves what still runs to the group."""
        if self._running:
            self._none_left = anyio.Event()
            await self._none_left.wait()

    async def _run(self, task: TurnTask, body: Callable[[], Awaitable[None]]) -> None:
        try:
            await body()
        finally:
            task.is_over = True
            if task.is_given_up:
                logging.getLogger("ostinato").warning("%s has ended after it was given up", task.name)
            else:
                self._one_less()

    def _one_less(self) -> None:
        self._running -= 1
        if not self._running and self._none_left is not None:
            self._none_left.set()

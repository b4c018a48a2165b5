"""One piece of work beside the passes of a query, one at a time: nothing waits for it, and it never outlives its query."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup


class Beside:
    """Belongs to one query. `open` gives it the query's own tasks; before that, and after `stop`, nothing begins."""

    def __init__(self) -> None:
        self._group: TaskGroup | None = None
        self._scope: anyio.CancelScope | None = None
        self._is_over = anyio.Event()

    def open(self, group: TaskGroup) -> None:
        self._group = group

    def begin(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Whether it begins: not while other work goes on. What it raises ends the query."""
        if self._group is None or self._scope is not None:
            return False
        self._scope, self._is_over = anyio.CancelScope(), anyio.Event()
        self._group.start_soon(self._run, self._scope, self._is_over, work)
        return True

    async def stop(self) -> None:
        """Stop what goes on and wait until nothing is left of it; nothing begins any more."""
        self._group = None
        if self._scope is not None:
            self._scope.cancel()
            await self._is_over.wait()

    async def _run(
        self, scope: anyio.CancelScope, is_over: anyio.Event, work: Callable[[], Awaitable[None]]
    ) -> None:
        try:
            with scope:
                await work()
        finally:
            self._scope = None
            is_over.set()

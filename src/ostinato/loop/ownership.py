"""Who owns the run of a bare `query()`: one root task per event loop, which lives while runs live.

A generator may not hold a task group (PEP 789), and a bare `query()` has nobody else. So the first run on an event loop
starts a root task that holds one task group; later runs join it; when the last run ends, the root ends. A host that shuts
down its loop cancels the root like any task, and with it every run. This is the one place where a task is detached;
`docs/decisions/0001-who-owns-a-run.md` says why.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import RunVar, current_token


class _Root:
    """A task group that outlives the caller, not the loop."""

    def __init__(self) -> None:
        self.tasks: TaskGroup | None = None
        self.ready = anyio.Event()
        self.idle = anyio.Event()
        self.runs = 0
        self.keep: object = None

    async def serve(self) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                self.tasks = tasks
                self.ready.set()
                await self.idle.wait()
                tasks.cancel_scope.cancel()  # every run has ended; what waits beside them has nobody to wait for
        finally:
            self.end()

    def end(self) -> None:
        """Nobody may join any more; also when the host cancelled the root, at whatever moment."""
        self.idle.set()
        self.ready.set()

    async def start(self, body: Callable[[], Awaitable[None]]) -> bool:
        """Start `body` in the group; False if the root has ended, and `body` did not start."""
        self.runs += 1
        if not self.ready.is_set():
            try:
                await self.ready.wait()
            except BaseException:
                self.leave()
                raise
        if self.tasks is None or self.idle.is_set():
            return False
        self.tasks.start_soon(self.hold, body)
        return True

    async def hold(self, body: Callable[[], Awaitable[None]]) -> None:
        try:
            await body()
        finally:
            self.leave()

    def leave(self) -> None:
        self.runs -= 1
        if self.runs == 0:
            self.idle.set()


_current: RunVar["_Root | None"] = RunVar("ostinato_root", default=None)


async def start_owned(body: Callable[[], Awaitable[None]]) -> None:
    """Start `body` as a task of its own on the current event loop; `body` must not raise."""
    while not await _living_root().start(body):
        pass  # the host ended that root before it was ready


def start_beside_runs(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Start a task that serves all runs of the current event loop. It ends with the last of them; `body` must not raise."""
    root = _current.get()
    if root is None or root.tasks is None:
        raise RuntimeError("no run is alive on this event loop")
    root.tasks.start_soon(body)


def _living_root() -> _Root:
    root = _current.get()
    if root is None or root.idle.is_set():
        root = _Root()
        _current.set(root)
        _detach(root)
    return root


def _detach(root: _Root) -> None:
    host = current_token().native_token
    if isinstance(host, asyncio.AbstractEventLoop):
        task = host.create_task(root.serve(), name="ostinato root")
        # cancelled before it began, a task runs no `finally`
        task.add_done_callback(lambda _task: root.end())
        root.keep = task
    else:
        import trio  # only where it is the host: asyncio users need not have it

        trio.lowlevel.spawn_system_task(root.serve)

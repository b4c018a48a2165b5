"""A gate: something that waits until a test lets it go, so that tests order events without sleeps.

The same gate works in coroutines (asyncio and trio) and in the threads of the strict server.
"""

import threading
from typing import Self

import anyio
import anyio.from_thread
import anyio.lowlevel


class Latch:
    """Set once, from any thread; waited for from coroutines and threads."""

    __slots__ = ("_flag", "_lock", "_waiters")

    def __init__(self) -> None:
        self._flag = threading.Event()
        self._lock = threading.Lock()
        self._waiters: list[tuple[anyio.Event, anyio.lowlevel.EventLoopToken, int]] = []

    @property
    def is_set(self) -> bool:
        return self._flag.is_set()

    def set(self) -> None:
        """Release everybody; setting it twice is harmless."""
        with self._lock:
            self._flag.set()
            waiters, self._waiters = self._waiters, []
        for event, token, thread_id in waiters:
            if thread_id == threading.get_ident():
                event.set()
            else:
                _set_in_its_loop(event, token)

    async def wait(self) -> None:
        with self._lock:
            if self._flag.is_set():
                return
            event = anyio.Event()
            self._waiters.append((event, anyio.lowlevel.current_token(), threading.get_ident()))
        await event.wait()

    def wait_in_thread(self, timeout_s: float) -> bool:
        """Block this thread; False if the time ran out."""
        return self._flag.wait(timeout_s)


def _set_in_its_loop(event: anyio.Event, token: anyio.lowlevel.EventLoopToken) -> None:
    # A thread of its own: the loop's thread may at this moment be waiting for the caller's.
    def deliver() -> None:
        try:
            anyio.from_thread.run_sync(event.set, token=token)
        except RuntimeError:
            return  # that loop is over, and its waiter with it

    threading.Thread(target=deliver, name="ostinato-gate", daemon=True).start()


class Gate:
    """Closed until `open()`. `reached` tells the test that somebody stands before it."""

    __slots__ = ("_opened", "_reached", "name")

    def __init__(self, name: str = "gate") -> None:
        self.name = name
        self._opened = Latch()
        self._reached = Latch()

    @classmethod
    def opened(cls, name: str = "gate") -> Self:
        """A gate that stands open from the start."""
        gate = cls(name)
        gate.open()
        return gate

    @property
    def is_open(self) -> bool:
        return self._opened.is_set

    @property
    def is_reached(self) -> bool:
        return self._reached.is_set

    def open(self) -> None:
        """Let everybody through, now and later."""
        self._opened.set()

    async def wait(self) -> None:
        """Stand before the gate until it opens."""
        self._reached.set()
        await self._opened.wait()

    def wait_in_thread(self, timeout_s: float) -> bool:
        """The same for a thread; False if the time ran out first."""
        self._reached.set()
        return self._opened.wait_in_thread(timeout_s)

    async def reached(self) -> None:
        """Wait until somebody stands before the gate."""
        await self._reached.wait()

    def reached_in_thread(self, timeout_s: float) -> bool:
        return self._reached.wait_in_thread(timeout_s)

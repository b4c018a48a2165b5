"""Waiting for one child without signal handlers: its exit and its output in a single awaitable.

With a pidfd and the pipes in one epoll set, one descriptor becomes readable for whichever comes first; no task group,
no thread, no SIGCHLD. Where the kernel offers no pidfd, the watch looks every 5 to 50 ms.
"""

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterable
from typing import Final, Protocol

import anyio

FIRST_POLL_S: Final = 0.005
SLOWEST_POLL_S: Final = 0.05


class ExitWatch(Protocol):
    """Becomes true once: `has_exited`. Until told to `forget` a descriptor, it reports when that can be read."""

    has_exited: bool

    async def wait(self, up_to_s: float) -> list[int]:
        """Wait for exit, output or the time; returns the descriptors worth a (non-blocking) read."""
        ...

    def forget(self, descriptor: int) -> None: ...

    def close(self) -> None: ...


def watch_exit(process: subprocess.Popen[bytes], descriptors: Iterable[int]) -> ExitWatch:
    """The best watch this system has; `process` is not reaped by the first kind, so its pid stays its own."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError), contextlib.ExitStack() as undo:
            exit_descriptor = os.pidfd_open(process.pid)
            undo.callback(os.close, exit_descriptor)
            epoll = select.epoll()
            undo.callback(epoll.close)
            for descriptor in (exit_descriptor, *descriptors):
                epoll.register(descriptor, select.EPOLLIN)
            undo.pop_all()
            return EpollWatch(epoll, exit_descriptor)
    return PollingWatch(process, descriptors)


class EpollWatch:
    """Wakes when something happens, and only then."""

    def __init__(self, epoll: "select.epoll", exit_descriptor: int) -> None:
        self._epoll = epoll
        self._exit_descriptor = exit_descriptor
        self.has_exited = False

    async def wait(self, up_to_s: float) -> list[int]:
        with anyio.move_on_after(up_to_s):
            await anyio.wait_readable(self._epoll.fileno())
        ready = [descriptor for descriptor, _ in self._epoll.poll(0)]
        if self._exit_descriptor in ready:
            ready.remove(self._exit_descriptor)
            self._epoll.unregister(self._exit_descriptor)
            self.has_exited = True
        return ready

    def forget(self, descriptor: int) -> None:
        self._epoll.unregister(descriptor)

    def close(self) -> None:
        self._epoll.close()
        os.close(self._exit_descriptor)


class PollingWatch:
    """Looks again and again, slower while nothing happens."""

    def __init__(self, process: subprocess.Popen[bytes], descriptors: Iterable[int]) -> None:
        self._process = process
        self._descriptors = list(descriptors)
        self._pause_s = FIRST_POLL_S
        self.has_exited = False

    async def wait(self, up_to_s: float) -> list[int]:
        ready, _, _ = select.select(self._descriptors, [], [], 0)
        self.has_exited = self._process.poll() is not None
        if ready or (self.has_exited and self._descriptors == []):
            self._pause_s = FIRST_POLL_S
            await anyio.lowlevel.checkpoint()
        elif not self.has_exited or up_to_s > 0:
            await anyio.sleep(min(self._pause_s, up_to_s))
            self._pause_s = min(2 * self._pause_s, SLOWEST_POLL_S)
        return ready

    def forget(self, descriptor: int) -> None:
        self._descriptors.remove(descriptor)

    def close(self) -> None:
        pass

"""The runs of one conversation, to be ended together: what commands left behind goes with it, whatever it did to hide."""

import os
import subprocess
import time
import uuid
from collections.abc import Callable
from signal import SIGTERM
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from ostinato.sandbox.pid_namespace import PidNamespace
    from ostinato.sandbox.process_tree import ProcessTree

FAREWELL_S: Final = 1.0
"""Between SIGTERM and SIGKILL at the end of a conversation: a database should close its files."""

LOOK_S: Final = 0.02


class RunGroup:
    """`token` is in the environment of each run. With `is_apart` its commands have process ids of their own, where that is allowed
    (`pid_namespace`). Not for use from several threads.
    """

    def __init__(self, *, is_apart: bool = False) -> None:
        self.token = uuid.uuid4().hex
        self._is_apart = is_apart
        self._namespace: PidNamespace | None = None
        self._marks: set[int] = set()
        self._started: int | None = None

    def add(self, tree: "ProcessTree") -> None:
        """A run that was just started."""
        self._marks |= tree.marks
        self._started = tree.started if self._started is None else min(self._started, tree.started)

    def start(self, begin: "Callable[[], subprocess.Popen[bytes]]") -> "subprocess.Popen[bytes]":
        """What `begin` starts, in the namespace of the group if it has one. Raises what `begin` raises."""
        if not self._is_apart:
            return begin()
        if self._namespace is None:
            from ostinato.sandbox.pid_namespace import PidNamespace  # ruff: ignore[import-outside-top-level] - loads with a first command

            self._namespace = PidNamespace()
        return self._namespace.start(begin)

    async def end(self) -> None:
        """SIGTERM to everything that is still there, a moment to close files, SIGKILL. Without a run it costs nothing.

        A cancellation shortens the moment, no more.
        """
        if self._started is None:
            self.kill()  # of a command that could not be started there may be a namespace
            return
        try:
            tree = self._tree()
            if tree.search().living:
                tree.signal(SIGTERM)
                await _until_gone(tree, FAREWELL_S)
        finally:
            self.kill()

    def kill(self) -> None:
        """SIGKILL now, synchronously."""
        if self._namespace is not None:
            self._namespace.end()
        if self._started is not None:
            from ostinato.sandbox.guard import guard_of  # ruff: ignore[import-outside-top-level] - loads with a first command

            self._tree().kill()
            guard_of(os.getpid()).settle(self.token)

    def _tree(self) -> "ProcessTree":
        from ostinato.sandbox.process_tree import ProcessTree  # ruff: ignore[import-outside-top-level] - as above

        return ProcessTree(
            leader=0, token=self.token, marks=frozenset(self._marks), started=self._started or 0
        )


async def _until_gone(tree: "ProcessTree", up_to_s: float) -> None:
    until_s = time.monotonic() + up_to_s
    while tree.search().living and time.monotonic() < until_s:  # ruff: ignore[async-busy-wait] - no event tells of others' children
        await anyio.sleep(LOOK_S)

"""One command in the background, from its start to its end, and the thread that hears what it says.

Its end is its own exit; what it leaves behind goes on being heard until it is gone or ended with the conversation.
"""

import contextlib
import math
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from signal import SIGKILL, SIGTERM
from typing import Final

from msgspec.structs import replace

from ostinato.processes import BackgroundFacts, BackgroundOutput, BackgroundState
from ostinato.sandbox.output_log import OutputLog
from ostinato.sandbox.start import Child

CHUNK_BYTES: Final = 65_536
LAST_WORDS_S: Final = 0.1
"""How long an exited command's end waits for what others still print for it."""

LOOK_MS: Final = 50
"""Between two looks at the exit where the system cannot tell of it."""


class BackgroundProcess:
    """Mutable on purpose: its thread writes, the conversation reads. `is_stopped`: its end, when it comes, was wanted.

    A `child` without pipes has closed its output. What the `log` holds already was shown. `started_s` is the monotonic clock's.
    """

    def __init__(
        self,
        task_id: str,
        command: str,
        child: Child,
        log: OutputLog,
        on_end: Callable[[BackgroundFacts], None] | None = None,
        *,
        started_s: float | None = None,
    ) -> None:
        self.task_id = task_id
        self.command = command
        self.state: BackgroundState = "running"
        self.is_stopped = False
        self.is_end_known = False
        self._on_end = on_end
        self._process = child.process
        self._pipe = child.pipes[0] if child.pipes else -1
        self._tree = child.tree
        self._log = log
        self._lock = threading.Lock()
        self._cursor = log.total_bytes
        self._is_silent = not child.pipes
        self._exit_code: int | None = None
        self._started_s = time.monotonic() if started_s is None else started_s
        self._ended_s: float | None = None
        self._thread = threading.Thread(target=self._follow, daemon=True, name=f"ostinato-{task_id}")

    @property
    def is_followed(self) -> bool:
        """Whether somebody may still print for it."""
        return self._thread.is_alive()

    def follow(self) -> None:
        self._thread.start()

    def facts(self) -> BackgroundFacts:
        ended_s = time.monotonic() if self._ended_s is None else self._ended_s
        return BackgroundFacts(
            self.task_id,
            self.command,
            self.state,
            self._exit_code,
            self._log.total_bytes,
            self._log.path,
            ended_s - self._started_s,
            self.is_end_known,
        )

    def read(self, offset: int | None, max_bytes: int) -> BackgroundOutput:
        """Each reading without an offset goes on where the last one of its kind ended."""
        wanted = self._cursor if offset is None else max(0, offset)
        is_growing = self.is_followed
        found = self._log.read(wanted, max_bytes, is_growing=is_growing)
        if offset is None:
            self._cursor = found.end
        text = found.data.decode("utf-8", "replace")
        if self.state != "running" and found.end >= self._log.total_bytes:
            self.is_end_known = True
        lost_bytes = max(0, found.start - wanted)
        return BackgroundOutput(
            text, found.start, found.end, lost_bytes, self.facts(), self._log.unfinished_line
        )

    def terminate(self) -> None:
        """SIGTERM to the whole tree."""
        self.is_stopped = True
        with self._lock:
            self._tree.signal(SIGTERM)

    def kill(self) -> None:
        """SIGKILL to the whole tree, synchronously; what it had left behind is gone too."""
        with self._lock:
            self._tree.kill()

    def kill_group(self) -> None:
        """All that can be done where there is no `/proc` to find a tree in."""
        with self._lock:
            if self._tree.leader:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._tree.leader, SIGKILL)

    # ------------------------------------------------------------------------------------------------ in its thread

    def _follow(self) -> None:
        try:
            self._hear_until_exit()
            self._hear_until(time.monotonic() + LAST_WORDS_S)
            self._settle()
            self._hear_until(math.inf)
        finally:
            if not self._is_silent:
                os.close(self._pipe)
            self._log.close()

    def _hear_until_exit(self) -> None:
        exit_descriptor = self._pinned()
        poll = select.poll()
        if not self._is_silent:
            poll.register(self._pipe, select.POLLIN)
        if exit_descriptor is not None:
            poll.register(exit_descriptor, select.POLLIN)
        try:
            while True:
                ready = {found for found, _ in poll.poll(LOOK_MS if exit_descriptor is None else None)}
                if self._pipe in ready and not self._hear():
                    poll.unregister(self._pipe)
                if exit_descriptor in ready or (exit_descriptor is None and self._reaped()):
                    return
        finally:
            if exit_descriptor is not None:
                os.close(exit_descriptor)

    def _hear_until(self, time_s: float) -> None:
        """Until nobody holds the output any more, or the time of the monotonic clock."""
        poll = select.poll()
        if not self._is_silent:
            poll.register(self._pipe, select.POLLIN)
        while not self._is_silent and (left_s := time_s - time.monotonic()) > 0:
            if poll.poll(None if left_s == math.inf else left_s * 1000):
                self._hear()

    def _hear(self) -> bool:
        """Take what is there; False once nobody can print any more."""
        chunk = os.read(self._pipe, CHUNK_BYTES)
        self._log.feed(chunk)
        if not chunk:
            self._is_silent = True
            os.close(self._pipe)
        return chunk != b""

    def _settle(self) -> None:
        """The end, for everybody to see; the state last, for it is what others wait for."""
        self._reaped()
        self._log.end()
        self._exit_code = None if self.is_stopped else self._process.returncode
        self._ended_s = time.monotonic()
        self.state = "stopped" if self.is_stopped else "exited"
        if self._on_end is not None and not self.is_stopped:
            self._on_end(self.facts())

    def _reaped(self) -> bool:
        """Whether it has exited; then its number is no longer its own, and no signal goes there."""
        with self._lock:
            if self._process.poll() is None:
                return False
            self._tree = replace(self._tree, leader=0)
            return True

    def _pinned(self) -> int | None:
        if sys.platform != "linux":
            return None
        try:
            return os.pidfd_open(self._process.pid)
        except OSError:
            return None

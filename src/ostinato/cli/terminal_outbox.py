"""Everything that is written to the terminal, in one order: text, editor, signs. It never blocks the program.

A terminal that does not take it (a slow line, a stopped window) makes writers wait in `caught_up`; signals are still heard.
"""

import contextlib
import os
import select
from typing import Final

import anyio

from ostinato.cli.output import OutputClosed

MAX_WAITING_BYTES: Final = 65_536
"""So much may wait for the terminal before those who write must wait too."""

PATIENCE_MS: Final = 1_000
"""How long a flush waits for a terminal that takes nothing; then the rest is dropped."""

_PIECE_BYTES: Final = 4_096


class TerminalOutbox:
    """For the length of a `with` block. The terminal is opened anew, so that not blocking is ours alone."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = _opened_anew(descriptor)
        self._is_own = self._descriptor != descriptor
        self._waiting = bytearray()
        self._filled = anyio.Event()
        self._emptied = anyio.Event()
        self._is_batching = False
        self._is_closed = False
        self._ready = select.poll()
        self._ready.register(self._descriptor, select.POLLOUT)

    def close(self) -> None:
        """Write what is left, if the terminal takes it."""
        self.flush()
        self._is_closed = True
        if self._is_own:
            os.close(self._descriptor)

    def put(self, text: str) -> None:
        """Write now what the terminal takes now; the rest waits its turn. A terminal that is gone takes everything."""
        if self._is_closed:
            return
        self._waiting += text.encode("utf-8", "replace")
        if not self._is_batching:
            self._push()

    def begin_batch(self) -> None:
        """What is put from here on goes out together at the end, so that nothing is seen half done."""
        self._is_batching = True

    def end_batch(self) -> None:
        self._is_batching = False
        self._push()

    async def caught_up(self) -> None:
        """Wait until the terminal has taken most of it. Raises OutputClosed when it is gone."""
        while not self._is_closed and len(self._waiting) > MAX_WAITING_BYTES:
            self._emptied = anyio.Event()
            await self._emptied.wait()
        if self._is_closed:
            raise OutputClosed

    async def run(self) -> None:
        """Bring out what waits, as the terminal takes it, until cancelled."""
        while not self._is_closed:
            if not self._waiting:
                self._filled = anyio.Event()
                await self._filled.wait()
            await anyio.wait_writable(self._descriptor)
            self._push()

    def flush(self) -> None:
        """Everything, now: before the program stops or ends. What the terminal does not take in time is dropped."""
        self._is_batching = False
        while self._waiting and not self._is_closed and self._ready.poll(PATIENCE_MS):
            before = len(self._waiting)
            self._push()
            if len(self._waiting) == before:
                break
        self._waiting.clear()

    def _push(self) -> None:
        while self._waiting and not self._is_closed and self._ready.poll(0):
            try:
                del self._waiting[: os.write(self._descriptor, self._waiting[:_PIECE_BYTES])]
            except BlockingIOError:
                break
            except OSError:  # the terminal is gone
                self._is_closed = True
                self._waiting.clear()
        self._filled.set() if self._waiting else self._emptied.set()


def _opened_anew(descriptor: int) -> int:
    with contextlib.suppress(OSError):
        return os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    return descriptor

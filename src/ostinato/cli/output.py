"""Standard output as a run writes it: whole and in order, never blocking the event loop, quiet when its reader is gone."""

import errno
import fcntl
import os
import select
import stat
import sys
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from ostinato.errors import OstinatoError

_PIECE_BYTES: Final = 4_096
"""What a pipe that is ready takes without blocking (PIPE_BUF)."""

_READER_GONE: Final = frozenset({errno.EPIPE, errno.ECONNRESET, errno.EIO})


class OutputClosed(Exception):
    """Nobody reads the output any more: the run should end, and say nothing."""


class Output:
    """One descriptor. A slow reader makes `write` wait, so that signals are still heard; a cancelled write is cut."""

    def __init__(self, descriptor: int = 1) -> None:
        """Raises OstinatoError for a descriptor that takes nothing."""
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OstinatoError(
                "standard output is closed: the answer would be lost",
                hint="send it to a file, or to /dev/null if it is not wanted",
            )
        self._descriptor = descriptor
        mode = os.fstat(descriptor).st_mode
        self._may_block = not stat.S_ISREG(mode)
        self._tells_of_leaving = stat.S_ISFIFO(mode) and sys.platform == "linux"
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    async def write(self, data: bytes) -> None:
        """Raises OutputClosed, or OstinatoError when the data cannot be stored."""
        left = memoryview(data)
        while left:
            left = left[await self._write_piece(left) :]

    async def while_read(self, body: Callable[[], Awaitable[int]]) -> int:
        """Run `body`, and end it when the reader of a pipe leaves, even while nothing is written.

        Raises OutputClosed then. Where the system does not tell, the next write finds out.
        """
        codes: list[int] = []
        async with anyio.create_task_group() as tasks:
            if self._tells_of_leaving:
                tasks.start_soon(self._until_reader_left, tasks.cancel_scope)
            codes.append(await body())
            tasks.cancel_scope.cancel()
        if not codes:
            raise OutputClosed
        return codes[0]

    async def _until_reader_left(self, scope: anyio.CancelScope) -> None:
        # The write end of a pipe is never readable; what wakes this is the error condition of a pipe without reader.
        await anyio.wait_readable(self._descriptor)
        scope.cancel()

    async def _write_piece(self, data: memoryview) -> int:
        try:
            if not self._may_block:
                return os.write(self._descriptor, data)
            if not self._ready.poll(0):
                await anyio.wait_writable(self._descriptor)
            return os.write(self._descriptor, data[:_PIECE_BYTES])
        except BlockingIOError:
            return 0
        except OSError as error:
            if error.errno in _READER_GONE:
                raise OutputClosed from error
            raise OstinatoError(
                f"the output cannot be written: {error.strerror}", hint="is the disk full?"
            ) from error

"""A line that a person types to a question, and only after it was put: what was typed before it is no answer.

It is set aside, and the next prompt gets it.
"""

import os
import select
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import anyio

from ostinato.cli.terminal_modes import TerminalModes

_CHUNK_BYTES: Final = 4_096


class TypedAnswer:
    """Reads answers from the terminal."""

    def __init__(self, modes: TerminalModes, descriptor: int = 0) -> None:
        self._modes = modes
        self._descriptor = descriptor
        self._aside = b""

    @contextmanager
    def opened(self) -> Generator[None, None, None]:
        """For the length of a question: lines can be typed. What was typed before is set aside for the next prompt."""
        self._set_aside()
        with self._modes.line_editing():
            yield

    def take_aside(self) -> str:
        """What was set aside; it is handed out once."""
        aside, self._aside = self._aside, b""
        return aside.decode("utf-8", "replace")

    async def read_line(self) -> str | None:
        """The next line without its end; None when the terminal is gone or its end was typed (Ctrl-D)."""
        await anyio.wait_readable(self._descriptor)
        line = self._read()
        return line.decode("utf-8", "replace").rstrip("\r\n") if line else None

    def _set_aside(self) -> None:
        ready = select.poll()
        ready.register(self._descriptor, select.POLLIN)
        while ready.poll(0):
            piece = self._read()
            if not piece:
                return
            self._aside += piece

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK_BYTES)
        except OSError:  # the terminal is gone
            return b""

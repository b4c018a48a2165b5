"""The prompt on a terminal that can only print: the system's own line editing, a backslash at the end goes on.

Nothing is drawn over. What was typed before a question was put is no answer to it and comes afterwards.
"""

import os
import select
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from ostinato.cli.prompt_line import PROMPT, Gesture, Take, quiet_moment
from ostinato.cli.terminal_modes import TerminalModes
from ostinato.cli.terminal_outbox import TerminalOutbox

_CHUNK_BYTES: Final = 4_096


class PlainLines:
    """Implements `PromptLine`. `is_busy` says whether a query runs; then no prompt is shown. `until_read` waits until whoever sees
    a question may be meant by what is typed.
    """

    def __init__(
        self,
        outbox: TerminalOutbox,
        modes: TerminalModes,
        is_busy: Callable[[], bool],
        descriptor: int = 0,
        *,
        until_read: Callable[[], Awaitable[None]] = quiet_moment,
    ) -> None:
        self._outbox = outbox
        self._until_read = until_read
        self._modes = modes
        self._is_busy = is_busy
        self._descriptor = descriptor
        self._typed = b""
        self._lines: list[str] = []
        self._question: _Question | None = None
        self._is_reading = False
        self._is_prompted = False
        self._take: Take = lambda _typed: None
        self._leaving = anyio.Event()

    @property
    def leaves_typed(self) -> bool:
        return True

    @property
    def has_draft(self) -> bool:
        return bool(self._lines)

    @property
    def draft(self) -> str:
        half = [self._typed.decode("utf-8", "replace")] if self._typed else []
        return "\n".join((*self._lines, *half))

    async def run(self, take: Take) -> None:
        self._take = take
        with self._modes.line_editing():
            self._is_reading = True
            self.refresh()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read_until_end, tasks.cancel_scope)
                await self._leaving.wait()
                tasks.cancel_scope.cancel()
        take(Gesture.END)

    async def ask(self, prompt: str) -> str | None:
        await self._until_read()
        if self._leaving.is_set():
            return None
        self._set_aside()
        question = self._question = _Question(prompt)
        self._outbox.put(prompt)
        try:
            await question.is_done.wait()
            return question.answer
        finally:
            self._question = None

    def print_above(self, text: str) -> None:
        start = "\n" if self._is_prompted else ""
        self._is_prompted = False
        self._outbox.put(start + text)

    def refresh(self) -> None:
        """The prompt, if it is time for it."""
        is_time = self._is_reading and self._question is None and not self._is_busy()
        if is_time and not self._is_prompted:
            self._is_prompted = True
            self._outbox.put(PROMPT)

    def put_into_draft(self, text: str) -> None:
        """Nothing can be put into a line of the system's: it is said, to be typed again."""
        self.print_above(f"not sent: {text}\n")

    def stop_for(self, suspend: Callable[[], None]) -> None:
        self._outbox.flush()
        suspend()

    def interrupted(self) -> None:
        self._lines.clear()
        self._is_prompted = False
        self._outbox.put("\n")
        self._take(Gesture.INTERRUPT)

    def leave(self) -> None:
        self._leaving.set()

    # -------------------------------------------------------------------------------------------- inside

    async def _read_until_end(self, scope: anyio.CancelScope) -> None:
        while True:
            await anyio.wait_readable(self._descriptor)
            piece = self._read()
            if not piece:
                break
            self._typed += piece
            while b"\n" in self._typed:
                line, self._typed = self._typed.split(b"\n", 1)
                self._got(line.decode("utf-8", "replace").rstrip("\r"))
        if self._question is not None:
            self._question.settle(None)
        self._leaving.set()
        scope.cancel()

    def _got(self, line: str) -> None:
        self._is_prompted = False
        if self._question is not None and not self._question.is_done.is_set():
            self._question.settle(line)
            return
        if line.endswith("\\"):
            self._lines.append(line[:-1])
            return
        lines, self._lines = [*self._lines, line], []
        self._take("\n".join(lines))

    def _set_aside(self) -> None:
        """Take what waits in the terminal, half a line too, as typed before the question."""
        with self._modes.quiet():
            ready = select.poll()
            ready.register(self._descriptor, select.POLLIN)
            while ready.poll(0):
                piece = self._read()
                if not piece:
                    break
                self._typed += piece.replace(b"\r", b"\n")
        while b"\n" in self._typed:
            line, self._typed = self._typed.split(b"\n", 1)
            self._got(line.decode("utf-8", "replace"))
        if self._typed:
            rest, self._typed = self._typed.decode("utf-8", "replace"), b""
            self.put_into_draft(rest)

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK_BYTES)
        except OSError:  # the terminal is gone
            return b""


class _Question:
    """One on its way."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.answer: str | None = None
        self.is_done = anyio.Event()

    def settle(self, answer: str | None) -> None:
        self.answer = answer
        self.is_done.set()

"""What signals mean to a conversation: Ctrl-C ends the query and keeps the conversation, a second one soon after leaves; that,
SIGTERM and SIGHUP leave in good order; Ctrl-Z stops with the terminal as it was.
"""

import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import anyio

from ostinato.cli.exit_codes import INTERRUPTED, TERMINATED
from ostinato.cli.signals import ENDING, PATIENCE_S, Cause
from ostinato.submissions import AbortReason

HEARD: Final = (*ENDING, signal.SIGTSTP)

AGAIN_S: Final = 2.0
"""So long after a Ctrl-C that ended a query the next one belongs to it, and leaves."""


class LineSignals:
    """Implements `Hearer`. While nothing is declared (opening, closing) a signal ends everything."""

    def __init__(
        self, suspend: Callable[[], None], *, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.scope = anyio.CancelScope()
        self._cause: Cause | None = None
        self._suspend = suspend
        self._leave_prompt: Callable[[], None] | None = None
        self._interrupt_prompt: Callable[[], None] | None = None
        self._abort: Callable[[AbortReason], None] | None = None
        self._monotonic_s = monotonic_s
        self._interrupted_s: float | None = None

    def stop_with(self, suspend: Callable[[], None]) -> None:
        """From now on this is what a stop signal does."""
        self._suspend = suspend

    @property
    def cause(self) -> Cause | None:
        return self._cause

    @property
    def exit_code(self) -> int:
        return INTERRUPTED if self._cause == "interrupted" else TERMINATED

    @contextmanager
    def at_prompt(
        self, leave: Callable[[], None], interrupted: Callable[[], None]
    ) -> Generator[None, None, None]:
        """While only the prompt waits: `leave` makes it end, `interrupted` is told of a SIGINT."""
        self._leave_prompt, self._interrupt_prompt = leave, interrupted
        try:
            yield
        finally:
            self._leave_prompt = self._interrupt_prompt = None

    @contextmanager
    def in_query(self, abort: Callable[[AbortReason], None]) -> Generator[None, None, None]:
        """For the length of a query."""
        self._abort, self._interrupted_s = abort, None
        try:
            yield
        finally:
            self._abort = None

    def leave_if_again(self) -> bool:
        """Ctrl-C came at the empty prompt: whether it belongs to the one that ended the last query, and so leaves."""
        is_again = self._interrupted_s is not None and self._monotonic_s() - self._interrupted_s <= AGAIN_S
        if is_again:
            self._cause = self._cause or "interrupted"
        return is_again

    def take(self, number: int) -> None:
        """A signal came."""
        match number:
            case signal.SIGTSTP:
                self._suspend()
            case signal.SIGINT:
                self._interrupt()
            case _:
                self._terminate()

    def _interrupt(self) -> None:
        if self._abort is not None and self._interrupted_s is None:
            self._interrupted_s = self._monotonic_s()
            self._abort("user")
        elif self._abort is not None and self._cause is None:  # the query is on its way to its end
            self._cause = "interrupted"
            self.scope.deadline = anyio.current_time() + PATIENCE_S
        elif self._interrupt_prompt is not None:
            self._interrupt_prompt()
        else:
            self._cause = self._cause or "interrupted"
            self.scope.cancel()

    def _terminate(self) -> None:
        is_first = self._cause is None
        self._cause = self._cause or "terminated"
        if is_first and self._abort is not None:
            self.scope.deadline = anyio.current_time() + PATIENCE_S
            self._abort("terminated")
        elif is_first and self._leave_prompt is not None:
            self.scope.deadline = anyio.current_time() + PATIENCE_S
            self._leave_prompt()
        else:
            self.scope.cancel()

"""Signals to a run: the first ends the query in good order, the second ends everything at once; nothing written is lost.

SIGINT means the user, SIGTERM and SIGHUP mean the machine. A signal that the parent had ignored stays ignored.
"""

import signal
from collections.abc import Awaitable, Callable
from typing import Final, Literal, Protocol, cast

import anyio
import msgspec
from anyio.abc import TaskStatus

from ostinato.cli.exit_codes import INTERRUPTED, TERMINATED
from ostinato.submissions import AbortReason

PATIENCE_S: Final = 5.0
"""How long a query may take to end after the first signal; clients that send SIGTERM kill after the same time."""

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Cause = Literal["interrupted", "terminated"]


class Interruption(msgspec.Struct):
    """What the signals so far asked for. `attach` says how to end the query; before that a signal ends everything."""

    cause: Cause | None = None
    _abort: Callable[[AbortReason], None] | None = None
    scope: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)

    @property
    def exit_code(self) -> int:
        return INTERRUPTED if self.cause == "interrupted" else TERMINATED

    def attach(self, abort: Callable[[AbortReason], None]) -> None:
        self._abort = abort

    def take(self, number: int) -> None:
        """A signal came."""
        is_first = self.cause is None
        if self.cause is None:
            self.cause = "interrupted" if number == signal.SIGINT else "terminated"
        if is_first and self._abort is not None:
            self.scope.deadline = anyio.current_time() + PATIENCE_S
            self._abort("user" if self.cause == "interrupted" else "terminated")
        else:
            self.scope.cancel()


class Hearer(Protocol):
    """Whoever decides what a signal means. `cause` is set once a signal ends the run; `scope` holds the run's body."""

    scope: anyio.CancelScope

    @property
    def cause(self) -> Cause | None: ...

    @property
    def exit_code(self) -> int: ...

    def take(self, number: int) -> None: ...


async def with_signals(body: Callable[[Interruption], Awaitable[int]]) -> int:
    """The code that `body` returns, or the signal's when it was cut short. What `body` raises is raised unwrapped."""
    interruption = Interruption()
    return await hearing(interruption, lambda: body(interruption), ENDING)


async def hearing(hearer: Hearer, body: Callable[[], Awaitable[int]], numbers: tuple[int, ...]) -> int:
    """The same, with these signals told to `hearer`."""
    codes: list[int] = []
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_listen, hearer, numbers)
            with hearer.scope:
                codes.append(await body())
            tasks.cancel_scope.cancel()
    except ExceptionGroup as group:
        if hearer.cause is None:
            raise _single(group) from None
    return codes[0] if codes else hearer.exit_code


def _single(group: ExceptionGroup[Exception]) -> Exception:
    """A group of one is its one error."""
    first = group.exceptions[0]
    if len(group.exceptions) > 1:
        return group
    return _single(cast("ExceptionGroup[Exception]", first)) if isinstance(first, ExceptionGroup) else first


async def _listen(
    hearer: Hearer, numbers: tuple[int, ...], *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    heard = [signal.Signals(number) for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    with anyio.open_signal_receiver(*heard) as signals:
        task_status.started()
        async for number in signals:
            hearer.take(number)

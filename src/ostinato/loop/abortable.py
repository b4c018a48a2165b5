"""Waits that an abort ends at once."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from ostinato.ports import Abort

T = TypeVar("T")


async def unless_aborted(abort: Abort, start: Callable[[], Awaitable[T]], *, otherwise: T) -> T:
    """The result of `start()`, or `otherwise` if the abort came first; then its work is cancelled."""
    result = otherwise
    scope = anyio.CancelScope()
    unsubscribe = abort.on_abort(scope.cancel)
    try:
        with scope:
            result = await start()
    finally:
        unsubscribe()
    return result


async def found_unless_aborted(abort: Abort, found: Sequence[T] | Awaitable[Sequence[T]]) -> Sequence[T]:
    """What was found, waited for if need be; nothing if the abort came first. What is there already costs no scope."""
    if isinstance(found, Sequence):
        return found

    async def waited_for() -> Sequence[T]:
        return await found

    return await unless_aborted(abort, waited_for, otherwise=())

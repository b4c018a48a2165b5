"""Waits that an abort ends at once."""

from collections.abc import Awaitable, Callable
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

"""What threads tell the event loop that their work came from, without waiting until it listens.

A thread that waits for a loop that has ended waits for ever, and keeps its process from ending.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from anyio.lowlevel import current_token


def told_from_threads(hear: Callable[..., object]) -> Callable[..., None]:
    """To be made on the event loop, and called in any thread: `hear` is called on the loop soon, in the order of the calls, with the
    same arguments; never if the loop ends before. What it raises is logged.
    """
    host: Any = current_token().native_token
    soon = host.call_soon_threadsafe if isinstance(host, asyncio.AbstractEventLoop) else host.run_sync_soon

    def heard(*arguments: Any) -> None:
        try:
            hear(*arguments)
        except Exception as error:  # ruff: ignore[blind-except] - foreign code, in the loop of a host that has more to do
            logging.getLogger("ostinato").warning("what a thread told was not taken: %r", error)

    def tell(*arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is over: nobody is there to be told
            soon(heard, *arguments)

    return tell

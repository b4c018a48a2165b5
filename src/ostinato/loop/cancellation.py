"""Whether the current task is really being cancelled, or a tool merely raised the cancellation exception."""

import asyncio
import math

import anyio


def is_being_cancelled() -> bool:
    """True inside a cancelled scope, and on asyncio also when the host cancelled the task itself."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    try:
        task = asyncio.current_task()
    except RuntimeError:  # not on asyncio
        return False
    return task is not None and task.cancelling() > 0

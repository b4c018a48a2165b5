"""Whether the current task is really being cancelled, or a tool merely raised the cancellation exception."""

import asyncio
import math

import anyio


def must_pass(error: BaseException) -> bool:
    """Whether what a tool or another foreign part raised belongs to those above: a real cancellation, or the host's end.

    A group that merely holds a cancellation does not: what else it holds would break whatever it passes.
    """
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        return True
    return isinstance(error, anyio.get_cancelled_exc_class()) and _is_being_cancelled()


def _is_being_cancelled() -> bool:
    """True inside a cancelled scope, and on asyncio also when the host cancelled the task itself."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    try:
        task = asyncio.current_task()
    except RuntimeError:  # not on asyncio
        return False
    return task is not None and task.cancelling() > 0

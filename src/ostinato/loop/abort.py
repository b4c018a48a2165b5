"""One abort signal for a query. What must happen on abort happens synchronously, in the order of registration."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from ostinato.submissions import AbortReason


class AbortSignal:
    """Implements the `Abort` port."""

    def __init__(self) -> None:
        self._reason: AbortReason | None = None
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    @property
    def reason(self) -> AbortReason | None:
        return self._reason

    def abort(self, reason: AbortReason) -> None:
        """A new message of the user (`interrupt`) lets some calls end by themselves; a harder reason may follow it, and then stays."""
        if self._reason is not None and (self._reason != "interrupt" or reason == "interrupt"):
            return
        self._reason = reason
        callbacks = list(self._callbacks.values())
        if reason != "interrupt":
            self._callbacks = {}
        with (
            ExitStack() as every_one
        ):  # an error of one does not keep the others from it; it is raised after the last
            for callback in reversed(callbacks):
                every_one.callback(callback)

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        if self._reason is not None:
            callback()
        if self._reason not in (None, "interrupt"):
            return lambda: None
        key, self._next = self._next, self._next + 1
        self._callbacks[key] = callback
        return partial(self._forget, key)

    def _forget(self, key: int) -> None:
        self._callbacks.pop(key, None)

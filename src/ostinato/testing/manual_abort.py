"""An abort signal that a test gives."""

from collections.abc import Callable

from ostinato.submissions import AbortReason


class ManualAbort:
    """The Abort port, alone: nothing is cancelled by it but what subscribed."""

    def __init__(self) -> None:
        self.reason: AbortReason | None = None
        self._callbacks: list[Callable[[], None]] = []

    def abort(self, reason: AbortReason) -> None:
        if self.reason is not None:
            return
        self.reason = reason
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        if self.reason is not None:
            callback()
            return lambda: None
        self._callbacks.append(callback)

        def unsubscribe() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return unsubscribe

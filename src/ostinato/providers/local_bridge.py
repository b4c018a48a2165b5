"""The way from the inference thread to the reader: bounded, and never waiting for someone who has gone.

Both sides wait on one condition and not on the event loop, so a loop that ends first leaves no thread behind that waits.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Final

import anyio.to_thread

INFERENCE_THREAD: Final = "ostinato-local"
"""The name of the thread that a model answers on. It ends by itself, a moment after nobody listens any more."""

Item = str | Exception
"""A chunk of the runtime's reply, or why there will be none."""


class Bridge:
    """Holds at most `capacity` items; a full bridge holds the inference."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._is_ended = False
        self._is_left = False

    @property
    def is_left(self) -> bool:
        """Whether the reader has gone."""
        return self._is_left

    def carry(self, item: Item) -> bool:
        """Called by the inference. True when the reader has gone: the runtime then ends the reply."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_left or len(self._items) < self._capacity)
            if not self._is_left:
                self._items.append(item)
                self._changed.notify_all()
            return self._is_left

    def end(self) -> None:
        """Called by the inference: nothing more will come."""
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def leave(self) -> None:
        """Called by the reader, from wherever it leaves: nothing more is wanted. Returns at once."""
        with self._changed:
            self._is_left = True
            self._changed.notify_all()

    async def receive(self) -> Sequence[Item]:
        """All that has arrived, at least one item; empty at the end."""
        # Abandoned when cancelled: the thread that waits is let go by `leave`.
        return await anyio.to_thread.run_sync(self._take, abandon_on_cancel=True)

    def _take(self) -> Sequence[Item]:
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._is_ended or self._is_left)
            taken = tuple(self._items)
            self._items.clear()
            self._changed.notify_all()
            return taken

"""The door to a model, as the loop uses it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from ostinato.events import AnyModelEvent
from ostinato.ports import ModelRequest


class CallModel(Protocol):
    """Sends one request and yields batches of model events; see `ports.Model.stream`."""

    def __call__(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[AnyModelEvent]]]: ...


RefreshAuth = Callable[[], Awaitable[bool]]
"""Gets a new key for the models after a refusal; False if there is none. Raises nothing."""

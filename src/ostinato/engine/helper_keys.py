"""The key of a command while a conversation uses it: kept for its time, asked for anew when it is old or was refused.

Promise: one command runs at a time; a key that cannot be had anew is told, and ends no query by itself.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import anyio

from ostinato.errors import OstinatoError
from ostinato.events import AnyModelEvent
from ostinato.ports import Clock, ModelFacts, ModelRequest


class ModelBehindKey(Protocol):
    """A model that takes another key from its next request on."""

    @property
    def facts(self) -> ModelFacts: ...

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[AnyModelEvent]]]: ...

    def use_key(self, api_key: str) -> None: ...


class HelperKeys:
    """Shared by all models of a conversation that the command is for. `ask` runs it, and raises an OstinatoError that says why
    there is no key. `first` is the key of the start, just asked for."""

    def __init__(
        self,
        ask: Callable[[], Awaitable[str]],
        first: str,
        *,
        kept_s: float,
        clock: Clock,
        tell: Callable[[str], None],
    ) -> None:
        self._ask = ask
        self._key = first
        self._kept_s = kept_s
        self._clock = clock
        self._tell = tell
        self._asked_s = clock.monotonic_s()
        self._asking = anyio.Lock()

    @property
    def newest(self) -> str:
        """The last key that the command gave."""
        return self._key

    async def current(self) -> str:
        """The key to use now. The old one where there is no new one: a server that refuses it will say so."""
        if self._is_old:
            async with self._asking:
                if self._is_old:
                    await self._ask_anew()
        return self._key

    async def after_refusal(self, refused: str) -> str | None:
        """Another key than the refused one; None where the command gives none."""
        async with self._asking:
            if self._key == refused:
                await self._ask_anew()
            return None if self._key == refused else self._key

    @property
    def _is_old(self) -> bool:
        return self._clock.monotonic_s() - self._asked_s >= self._kept_s

    async def _ask_anew(self) -> None:
        try:
            self._key = await self._ask()
        except OstinatoError as error:
            self._tell(error.message)
        # Whatever came of it: a command that fails is not tried before each request.
        self._asked_s = self._clock.monotonic_s()


class KeyedModel:
    """Implements the `Model` port: the same model, with the newest key in each request. `used` is the key it has now."""

    def __init__(self, model: ModelBehindKey, keys: HelperKeys, used: str) -> None:
        self._model = model
        self._keys = keys
        self._used = used

    @property
    def facts(self) -> ModelFacts:
        return self._model.facts

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Sequence[AnyModelEvent]]]:
        self._use(await self._keys.current())
        async with self._model.stream(request) as events:
            yield events

    async def renew_key(self) -> bool:
        """After a refusal; False where there is no key to try."""
        key = await self._keys.after_refusal(self._used)
        if key is None:
            return False
        self._use(key)
        return True

    def _use(self, key: str) -> None:
        if key != self._used:
            self._model.use_key(key)
            self._used = key

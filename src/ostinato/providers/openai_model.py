"""OpenAI's two wires as a `Model`: what they share, which is all but the path, the bodies and the way a reply is read."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Protocol

import msgspec

from ostinato.errors import ModelError
from ostinato.events import AnyModelEvent
from ostinato.ports import ModelFacts, ModelRequest
from ostinato.providers.address import endpoint_url
from ostinato.providers.exchange import HttpFailure, HttpSettings
from ostinato.providers.given_up import GivenUp
from ostinato.providers.streaming import LazyClient, ReplyDecoder, stream_reply


class Bodies(Protocol):
    """Encodes requests to one model; `given_up` is what its server has refused to take."""

    given_up: GivenUp

    def body(self, request: ModelRequest) -> bytes: ...


class OpenAIWire(msgspec.Struct, frozen=True):
    """What tells the two apart. `reply` gives a decoder for the reply to one request."""

    path: str
    bodies: Callable[[ModelFacts], Bodies]
    reply: Callable[[ModelFacts, ModelRequest], ReplyDecoder]


class OpenAIModel:
    """One request, once, over the wire that a subclass names. `api_key` goes out as a bearer token; without one, the server wants
    none.
    """

    wire: ClassVar[OpenAIWire]

    def __init__(
        self, facts: ModelFacts, *, base_url: str, api_key: str = "", settings: HttpSettings | None = None
    ) -> None:
        self._facts = facts
        self._bodies = self.wire.bodies(facts)
        url = endpoint_url(base_url, self.wire.path, version_is_implied=False)
        self._client = LazyClient(url, settings or HttpSettings())
        self._headers = {"content-type": "application/json"}
        if api_key:
            self.use_key(api_key)

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[AnyModelEvent]]]:
        """Send `request` once. What travels besides it (`source`, `tracking`) stays here: neither wire has a field for it."""
        return stream_reply(
            self._client,
            self._headers,
            self._bodies.body(request),
            decoder=self.wire.reply(self._facts, request),
            classify=self._classify,
            wants_stream=request.wants_stream,
        )

    def use_key(self, api_key: str) -> None:
        """From the next request on."""
        self._headers["authorization"] = f"Bearer {api_key}"

    async def aclose(self) -> None:
        await self._client.aclose()

    def _classify(self, failure: HttpFailure) -> ModelError:
        from ostinato.providers.classify import classify_openai  # ruff: ignore[import-outside-top-level] - only failures need it
        from ostinato.providers.refused_parameters import adjusted  # ruff: ignore[import-outside-top-level] - as above

        return adjusted(classify_openai(failure, self._facts), failure, self._bodies.given_up)

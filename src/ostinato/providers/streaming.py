"""From a POST to batches of model events: what both wires share. One batch for each chunk that the network brings.

Nothing is read ahead: when the consumer stops, so does the reading. A reply that was read to its end leaves its
connection behind for the next request; leaving earlier closes it.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from ostinato.errors import ModelError
from ostinato.events import AnyModelEvent
from ostinato.providers.exchange import HttpFailure, HttpSettings
from ostinato.providers.sse import ServerSentEvent, SseReader

if TYPE_CHECKING:
    from ostinato.providers.http import HttpClient, HttpReply

OK = 200


class ReplyDecoder(Protocol):
    """One reply's wire events, turned into model events."""

    @property
    def is_complete(self) -> bool:
        """`MessageStop` has been given out."""
        ...

    def read(self, events: Iterable[ServerSentEvent], into: list[AnyModelEvent]) -> None:
        """Append to `into`. Raises `ModelError` for an error event and for what cannot be read; what came before it
        has then been appended."""
        ...

    def end(self) -> list[AnyModelEvent]:
        """What the end of the stream completes. Raises `ModelError` (`stream_cut`) if the reply is not complete."""
        ...


class LazyClient:
    """The HTTP client of one adapter; neither it nor the HTTP library is loaded before the first request."""

    def __init__(self, url: str, settings: HttpSettings) -> None:
        self.url = url
        self._settings = settings
        self._client: HttpClient | None = None

    def get(self) -> "HttpClient":
        if self._client is None:
            from ostinato.providers.http import HttpClient  # ruff: ignore[import-outside-top-level] - laziness is the point

            self._client = HttpClient(self.url, self._settings)
        return self._client

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()


@asynccontextmanager
async def stream_reply(
    client: LazyClient,
    headers: Mapping[str, str],
    body: bytes,
    *,
    decoder: ReplyDecoder,
    classify: Callable[[HttpFailure], ModelError],
) -> "AsyncGenerator[EventBatches]":
    """Send once and give the reply as batches. Raises `ModelError` for a refusal and for a reply that is no stream."""
    async with client.get().post(headers, body) as reply:
        if reply.status != OK:
            raise classify(await reply.read_failure())
        if not _is_event_stream(reply.headers):
            raise _no_stream(await reply.read_failure(), classify)
        try:
            yield EventBatches(reply, decoder)
        finally:
            if decoder.is_complete:
                await reply.drain()


class BatchReader:
    """Bytes to events for one reply; the network is somebody else's."""

    def __init__(self, decoder: ReplyDecoder) -> None:
        self._decoder = decoder
        self._sse = SseReader()

    def take(self, chunk: bytes | None, into: list[AnyModelEvent]) -> None:
        """Append the events that `chunk` completes; None is the end of the stream. Raises `ModelError`, with what came
        before the failure appended."""
        if chunk is not None:
            self._decoder.read(self._sse.feed(chunk), into)
            return
        try:
            self._decoder.read(self._sse.flush(), into)
        except ModelError as error:
            # Half an event at the very end is a cut, not a malformed reply.
            if error.kind != "malformed_response":
                raise
        if not self._decoder.is_complete:
            into += self._decoder.end()


class EventBatches:
    """The events of one reply; ends after `MessageStop`."""

    def __init__(self, reply: "HttpReply", decoder: ReplyDecoder) -> None:
        self._reply = reply
        self._decoder = decoder
        self._reader = BatchReader(decoder)
        self._failure: ModelError | None = None

    def __aiter__(self) -> "EventBatches":
        return self

    async def __anext__(self) -> Sequence[AnyModelEvent]:
        if self._failure is not None:
            raise self._failure
        while not self._decoder.is_complete:
            batch: list[AnyModelEvent] = []
            try:
                self._reader.take(await self._reply.next_chunk(), batch)
            except ModelError as error:
                # What was complete before the failure counts: a tool may have to run, a text to be kept.
                if not batch:
                    raise
                self._failure = error
            if batch:
                return batch
        raise StopAsyncIteration


def _is_event_stream(headers: Mapping[str, str]) -> bool:
    # A server that names no type at all is believed; the reader finds out.
    return headers.get("content-type", "text/event-stream").lstrip().lower().startswith("text/event-stream")


def _no_stream(failure: HttpFailure, classify: Callable[[HttpFailure], ModelError]) -> ModelError:
    """Status 200, but no event stream: some gateways wrap their refusals so, and a wrong address answers so."""
    if b'"error"' in failure.body[:4096]:
        return classify(failure)
    content_type = failure.headers.get("content-type", "")
    return ModelError(
        f"`{failure.url}` answers with `{content_type}` where an event stream was asked for",
        kind="malformed_response",
        status=failure.status,
        hint="check the base URL: it may lead to a web page or to an interface of another kind",
    )

"""From a POST to batches of model events: what both wires share. One batch for each chunk that the network brings.

Nothing is read ahead: when the consumer stops, so does the reading. A reply that was read to its end leaves its
connection behind for the next request; leaving earlier closes it.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Protocol, cast

import anyio
import msgspec

from ostinato.errors import ModelError
from ostinato.events import AnyModelEvent
from ostinato.providers.exchange import MAX_ERROR_BYTES, MAX_REPLY_BYTES, HttpFailure, HttpSettings
from ostinato.providers.sse import BYTE_ORDER_MARK, ServerSentEvent, SseReader
from ostinato.providers.watchdog import Watchdog

if TYPE_CHECKING:
    from ostinato.providers.half_characters import HalfCharacters
    from ostinato.providers.http import HttpClient

OK = 200

LATE_COUNTS_S = 2.0
"""How long a reply that is settled is waited for: counts come right behind it, or never."""

STREAM_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
"""What a line of an event stream begins with."""

CUT_HINT = "if it keeps happening, look for a proxy between that closes long replies"


class ReplyDecoder(Protocol):
    """One reply's wire events, turned into model events."""

    @property
    def is_complete(self) -> bool:
        """`MessageStop` has been given out."""
        ...

    @property
    def is_settled(self) -> bool:
        """All that was said has come; only counts can follow. What the reply is then does not hang on its end mark."""
        ...

    @property
    def has_odd_text(self) -> bool:
        """Something came that is no valid text: half a character, which is marked in the events (`half_characters.py`)."""
        ...

    def read(self, events: Iterable[ServerSentEvent], into: list[AnyModelEvent]) -> None:
        """Append to `into`. Raises `ModelError` for an error event and for what cannot be read; what came before it
        has then been appended."""
        ...

    def read_whole(self, data: bytes, into: list[AnyModelEvent]) -> None:
        """The events of a reply that came in one piece, the same ones as from a stream. Raises `ModelError`, of kind
        `malformed_response` for what is no reply at all."""
        ...

    def end(self) -> list[AnyModelEvent]:
        """What the end of the stream completes. Raises `ModelError` (`stream_cut`) if the reply is not complete."""
        ...


def reply_cut(what: str) -> ModelError:
    """A reply that ended before its own end: never taken for a whole one, and worth another try."""
    return ModelError(what, kind="stream_cut", retry=True, hint=CUT_HINT)


class ReadsChunks(Protocol):
    """A reply whose body still arrives (`http.HttpReply`)."""

    @property
    def url(self) -> str: ...

    @property
    def request_id(self) -> str: ...

    async def next_chunk(self) -> bytes | None: ...

    def failure(self, body: bytes) -> HttpFailure: ...


class LazyClient:
    """The HTTP client of one adapter; neither it nor the HTTP library is loaded before the first request."""

    def __init__(self, url: str, settings: HttpSettings) -> None:
        self.url = url
        self.deadlines = settings.deadlines
        self._settings = settings
        self._client: HttpClient | None = None

    def get(self) -> "HttpClient":
        if self._client is None:
            from ostinato.providers.http import HttpClient  # ruff: ignore[import-outside-top-level] - laziness is the point

            self._client = HttpClient(self.url, self._settings)
        return self._client

    def shown(self, text: str, *, sent_headers: Mapping[str, str]) -> str:
        """`text` without the secrets of this conversation: what went out in headers, and what the environment holds."""
        from ostinato.secret_values import header_secrets, masked, secret_values  # ruff: ignore[import-outside-top-level] - only failures say something

        settings = self._settings
        sent = {**settings.extra_headers, **sent_headers}
        return masked(text, (*header_secrets(sent), *secret_values({**settings.environment, "": self.url})))

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
    wants_stream: bool = True,
) -> "AsyncGenerator[EventBatches]":
    """Send once and give the reply as batches, whichever of the two ways it comes. Raises `ModelError` for a refusal and for
    a reply that is none."""
    watchdog = Watchdog(client.deadlines, is_streamed=wants_stream)
    accepted = headers if wants_stream else {**headers, "accept": "application/json"}
    shown = partial(client.shown, sent_headers=dict(headers))
    with _fit_to_be_shown(shown):
        async with client.get().post(accepted, body, watchdog) as reply:
            if reply.status != OK:
                raise classify(await reply.read_failure())
            if not _may_be_reply(reply.headers):
                raise not_a_reply(await reply.read_failure(), classify)
            try:
                yield EventBatches(reply, decoder, classify, watchdog, shown=shown)
            finally:
                if decoder.is_complete:
                    await reply.drain()


@contextmanager
def _fit_to_be_shown(shown: Callable[[str], str]) -> Generator[None]:
    """A server may say our own key back to us, and an error's text goes to terminals, logs and files."""
    try:
        yield
    except ModelError as error:
        error.reworded(shown)
        raise


class BatchReader:
    """Bytes to events for one reply; the network is somebody else's.

    Whether the reply streams is told by its first bytes: no server-sent event begins with a brace.
    """

    def __init__(self, decoder: ReplyDecoder) -> None:
        self._decoder = decoder
        self._sse = SseReader()
        self._is_at_start = True
        self._whole: bytearray | None = None
        self._halves: HalfCharacters | None = None
        # What came before the first event; None once there was one.
        self._head: bytearray | None = bytearray()

    @property
    def is_whole(self) -> bool:
        """The reply comes in one piece."""
        return self._whole is not None

    @property
    def whole(self) -> bytes:
        """What came of a reply in one piece."""
        return bytes(self._whole or b"")

    @property
    def other_text(self) -> bytes | None:
        """What came, if it is neither an event stream nor one piece of JSON; None if it is, or may become, one of them."""
        if self._head is None or self._whole is not None:
            return None
        begins = self._head.removeprefix(BYTE_ORDER_MARK).lstrip()
        may_be_stream = any(begins.startswith(field) or field.startswith(begins) for field in STREAM_FIELDS)
        return None if begins and may_be_stream else bytes(self._head)

    def take(self, chunk: bytes | None, into: list[AnyModelEvent]) -> bool:
        """Append the events that `chunk` completes; None is the end of the stream. Whether the server sent any event, pings
        included. Raises `ModelError`, with what came before the failure appended."""
        known = len(into)
        try:
            return self._take(chunk, into)
        finally:
            if self._decoder.has_odd_text:
                self._join_halves(into, known)

    def _join_halves(self, into: list[AnyModelEvent], known: int) -> None:
        if self._halves is None:
            from ostinato.providers.half_characters import HalfCharacters  # ruff: ignore[import-outside-top-level] - hardly any reply needs it

            self._halves = HalfCharacters()
        into[known:] = self._halves.joined(into[known:])

    def _take(self, chunk: bytes | None, into: list[AnyModelEvent]) -> bool:
        if self._is_at_start and chunk:
            self._look(chunk)
        if self._whole is not None:
            return self._take_whole(self._whole, chunk, into)
        if chunk is not None:
            events = self._sse.feed(chunk)
            if self._head is not None:
                self._keep_head(chunk, has_events=bool(events))
            self._decoder.read(events, into)
            return bool(events)
        try:
            self._decoder.read(self._sse.flush(), into)
        except ModelError as error:
            # Half an event at the very end is a cut, not a malformed reply.
            if error.kind != "malformed_response":
                raise
        if not self._decoder.is_complete:
            into += self._decoder.end()
        return True

    def _keep_head(self, chunk: bytes, *, has_events: bool) -> None:
        head = self._head
        if head is None or has_events:
            self._head = None
        else:
            head += chunk[: MAX_ERROR_BYTES - len(head)]

    def _look(self, chunk: bytes) -> None:
        begins = chunk.removeprefix(BYTE_ORDER_MARK).lstrip()
        if begins:
            self._is_at_start = False
            if begins.startswith(b"{"):
                self._whole = bytearray()

    def _take_whole(self, whole: bytearray, chunk: bytes | None, into: list[AnyModelEvent]) -> bool:
        if chunk is None:
            try:
                self._decoder.read_whole(bytes(whole.removeprefix(BYTE_ORDER_MARK)), into)
            except ModelError as error:
                if "truncated" in str(error.__cause__):
                    raise reply_cut("the reply ended in the middle") from error
                raise
            return True
        whole += chunk
        if len(whole) > MAX_REPLY_BYTES:
            raise ModelError(
                f"the reply is larger than {MAX_REPLY_BYTES:,} bytes",
                kind="malformed_response",
                hint="check the base URL: no model says that much at once",
            )
        return False


class EventBatches:
    """The events of one reply; ends after `MessageStop`. `now_s` is a clock that never goes back, in seconds; `shown` makes
    a text of the server fit to be shown."""

    def __init__(
        self,
        reply: ReadsChunks,
        decoder: ReplyDecoder,
        classify: Callable[[HttpFailure], ModelError],
        watchdog: Watchdog,
        *,
        now_s: Callable[[], float] = monotonic,
        shown: Callable[[str], str] = str,
    ) -> None:
        self._now_s = now_s
        self._shown = shown
        self._reply = reply
        self._decoder = decoder
        self._classify = classify
        self._watchdog = watchdog
        self._reader = BatchReader(decoder)
        self._failure: ModelError | None = None
        self._settled_at_s: float | None = None

    def __aiter__(self) -> "EventBatches":
        return self

    async def __anext__(self) -> Sequence[AnyModelEvent]:
        if self._failure is not None:
            raise self._failure
        watchdog, now_s = self._watchdog, self._now_s
        while not self._decoder.is_complete:
            batch: list[AnyModelEvent] = []
            started_s = now_s()
            # In the usual case the connection itself watches the idle limit, and no timer of ours is set.
            if self._decoder.is_settled:
                waiting = self._late_chunk(started_s)
            else:
                waiting = self._reply.next_chunk() if watchdog.is_fresh else self._guarded_chunk()
            try:
                chunk = await waiting
                waited_s = now_s() - started_s
                has_come = self._reader.take(chunk, batch)
            except TimeoutError as error:
                raise self._named(watchdog.error(self._reply.url)) from error
            except ModelError as error:
                # What was complete before the failure counts: a tool may have to run, a text to be kept.
                self._failure = self._named(self._explained(error))
                if not batch:
                    raise self._failure  # ruff: ignore[raise-without-from-inside-except] - mostly the same error
            else:
                if has_come:
                    watchdog.came(waited_s)
                else:
                    self._nothing_came(waited_s)
            if batch:
                return batch
        raise StopAsyncIteration

    def _nothing_came(self, waited_s: float) -> None:
        self._watchdog.waited(waited_s)
        if self._reader.is_whole:
            self._watchdog.is_whole()

    async def _guarded_chunk(self) -> bytes | None:
        with anyio.fail_after(self._watchdog.left_s):
            return await self._reply.next_chunk()

    async def _late_chunk(self, now_s: float) -> bytes | None:
        """What may still follow a reply that is settled; silence and a broken connection are its end as well."""
        self._settled_at_s = now_s if self._settled_at_s is None else self._settled_at_s
        left_s = max(0.0, self._settled_at_s + LATE_COUNTS_S - now_s)
        try:
            with anyio.fail_after(min(left_s, self._watchdog.left_s)):
                return await self._reply.next_chunk()
        except (TimeoutError, ModelError):
            return None

    def _named(self, error: ModelError) -> ModelError:
        """With the id under which the provider knows the request: an error in the middle of a reply rarely names it."""
        error.request_id = self._reply.request_id or error.request_id
        return error.reworded(self._shown)

    def _explained(self, error: ModelError) -> ModelError:
        """A reply in one piece that does not decode may be a refusal under a good status; what was no stream was not cut."""
        if error.kind == "malformed_response" and self._reader.is_whole:
            return not_a_reply(self._reply.failure(self._reader.whole), self._classify)
        other = self._reader.other_text if error.kind == "stream_cut" else None
        if other is None:
            return error
        answer = self._reply.failure(other)
        content_type = _content_type(answer.headers)
        is_cut = not other.strip() and (not content_type or _names_reply(content_type))
        return error if is_cut else not_a_reply(answer, self._classify)


VAGUE_TYPES = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream"})
"""A server that says nothing of what it sends is believed; the reader finds out."""


def _may_be_reply(headers: Mapping[str, str]) -> bool:
    content_type = _content_type(headers)
    return content_type in VAGUE_TYPES or _names_reply(content_type)


def _names_reply(content_type: str) -> bool:
    return content_type == "text/event-stream" or "json" in content_type


def _content_type(headers: Mapping[str, str]) -> str:
    """Without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def not_a_reply(failure: HttpFailure, classify: Callable[[HttpFailure], ModelError]) -> ModelError:
    """Status 200, but no reply: some gateways wrap their refusals so, and a wrong address answers so."""
    if _holds_error(failure.body):
        return classify(failure)
    content_type = failure.headers.get("content-type", "")
    what = f"`{content_type}`" if content_type.strip() else "something"
    return ModelError(
        f"`{failure.url}` answers with {what} that is no reply of a model",
        kind="malformed_response",
        status=failure.status,
        hint="check the base URL: it may lead to a web page or to an interface of another kind",
    )


def _holds_error(body: bytes) -> bool:
    """Whether JSON says that something went wrong: an `error` that is there and not empty."""
    try:
        said: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body.lstrip().startswith((b"{", b"[")) and b'"error"' in body[:4096]  # cut, but clear enough
    if isinstance(said, list):
        said = next(iter(cast("list[object]", said)), None)
    return isinstance(said, dict) and bool(cast("dict[str, object]", said).get("error"))

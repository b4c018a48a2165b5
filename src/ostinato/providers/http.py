"""One HTTP client for each adapter: made when first needed, kept so that connections live on, its failures translated.

A request is sent once. Whoever reads a reply to its end keeps the connection; whoever leaves early closes it.
Importing this module loads the HTTP library: adapters do so with their first request.
"""

import re
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import anyio.lowlevel
import httpcore2

from ostinato.errors import ModelError
from ostinato.providers.address import shown_url
from ostinato.providers.exchange import MAX_ERROR_BYTES, HttpFailure, HttpSettings
from ostinato.providers.http_log import is_content_logged, log_chunk, log_reply, log_request
from ostinato.providers.http_pool import core_url, new_pool
from ostinato.providers.http_target import target_of
from ostinato.providers.watchdog import Watchdog

ERROR_BODY_S = 10.0
"""A server that refuses and then does not finish its sentence is not waited for."""

DRAIN_S = 1.0
MAX_DRAIN_BYTES = 64 * 1024
"""What may still follow the last event: a terminator, a late usage note. More is no longer worth the connection."""


BROKEN = (httpcore2.NetworkError, httpcore2.ProtocolError)
UNSENT = (
    *BROKEN,
    httpcore2.TimeoutException,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
    ValueError,
)
"""How reading and how sending fail: the library's errors have no parent in common."""


CLASS_NAME = re.compile(r"\b[A-Za-z]+(?:Error|Exception|Timeout|Stream)\b")
"""A library's own name for what happened, which says nothing to whoever reads it."""

WORDS: tuple[tuple[type[Exception], str], ...] = (
    (httpcore2.ConnectTimeout, "no connection was made"),
    (httpcore2.WriteTimeout, "the request could not be sent"),
    (httpcore2.PoolTimeout, "no connection was free"),
    (httpcore2.TimeoutException, "nothing came"),
    (httpcore2.ConnectError, "no connection was made"),
    (httpcore2.ReadError, "the other side closed the connection"),
    (httpcore2.WriteError, "the other side closed the connection"),
    (httpcore2.ProxyError, "the proxy refused"),
    (httpcore2.ProtocolError, "the other side does not keep to HTTP"),
    (Exception, "it failed without a word"),
)
"""For errors that say nothing themselves, the more particular first."""


class HttpReply:
    """An answer whose body is still arriving, chunk by chunk. `url` is the address as it may be shown."""

    def __init__(self, url: str, response: httpcore2.Response, sent: bytes) -> None:
        self.url = url
        self.sent = sent
        self.status = response.status
        self.headers: Mapping[str, str] = _headers(response.headers)
        self.is_finished = False
        self._is_logged = is_content_logged()
        self._response = response
        self._chunks: AsyncGenerator[bytes] = response.aiter_stream()
        self._unpacked = _unpacker(self.headers.get("content-encoding", ""))

    @property
    def request_id(self) -> str:
        """The provider's name for the request, empty if it gave none."""
        return self.headers.get("request-id") or self.headers.get("x-request-id") or ""

    async def next_chunk(self) -> bytes | None:
        """The next bytes as the network brings them, None at the end. Raises `ModelError` when the connection breaks, and
        `TimeoutError` when it brings nothing for the idle limit."""
        try:
            chunk = await anext(self._chunks)
            if self._unpacked is not None:
                chunk = self._unpacked(chunk)
        except StopAsyncIteration:
            self.is_finished = True
            return None
        except httpcore2.TimeoutException as error:
            self.is_finished = True
            raise TimeoutError from error
        except BROKEN as error:
            self.is_finished = True
            raise reading_error(error, self.url) from error
        if self._is_logged:
            log_chunk(chunk)
        return chunk

    async def read_failure(self) -> HttpFailure:
        """The answer as a failure to classify; what cannot be read any more is left out."""
        body = bytearray()
        try:
            with anyio.move_on_after(ERROR_BODY_S):
                while len(body) < MAX_ERROR_BYTES and (chunk := await self.next_chunk()) is not None:
                    body += chunk
        except (ModelError, TimeoutError):
            pass  # the status alone still says what happened
        return self.failure(bytes(body[:MAX_ERROR_BYTES]))

    def failure(self, body: bytes) -> HttpFailure:
        """The answer as a failure to classify, its body having been read already."""
        return HttpFailure(self.url, self.status, self.headers, body, datetime.now(UTC), self.sent)

    async def drain(self) -> None:
        """Read what is left, a little and not for long, so that the connection can serve the next request."""
        if self.is_finished:
            return
        drained_bytes = 0
        try:
            with anyio.move_on_after(DRAIN_S):
                while drained_bytes <= MAX_DRAIN_BYTES and (chunk := await self.next_chunk()) is not None:
                    drained_bytes += len(chunk)
        except (ModelError, TimeoutError):
            pass  # the reply itself is complete; the next request will open a new connection

    async def aclose(self) -> None:
        """Close the connection unless the reply was read to its end."""
        await self._response.aclose()
        # The library's generators stand one inside the other; left to the garbage collector, each would be ended at some
        # other time in some other task. One more read of the closed connection unwinds them all, here and now.
        while not self.is_finished:
            try:
                await self.next_chunk()
            except (ModelError, TimeoutError):
                return


class HttpClient:
    """Sends to one address. Made without cost; the connection pool comes with the first request."""

    def __init__(self, url: str, settings: HttpSettings) -> None:
        self.url = url
        self._settings = settings
        self._pool: httpcore2.AsyncConnectionPool | None = None
        self._loop: object = None

    @asynccontextmanager
    async def post(
        self, headers: Mapping[str, str], body: bytes, watchdog: Watchdog
    ) -> AsyncGenerator[HttpReply]:
        """Send once and give the reply as it comes. `watchdog` counts the wait. Raises `ModelError` if there is none."""
        deadlines = self._settings.deadlines
        timeouts: dict[str, float | None] = {
            "connect": deadlines.connect_s,
            "write": deadlines.write_s,
            "read": watchdog.left_s,
        }
        started_s = time.monotonic()
        try:
            reply = await self._answer("POST", headers, body, timeouts)
        except httpcore2.ReadTimeout as error:
            watchdog.waited(time.monotonic() - started_s)
            raise watchdog.error(shown_url(self.url)) from error
        except UNSENT as error:
            raise sending_error(error, shown_url(self.url)) from error
        watchdog.waited(time.monotonic() - started_s)
        # The library looks here again when it begins with the body.
        timeouts["read"] = deadlines.idle_s if watchdog.is_streamed else deadlines.whole_reply_s
        try:
            yield reply
        finally:
            await reply.aclose()

    @asynccontextmanager
    async def get(self, headers: Mapping[str, str]) -> AsyncGenerator[HttpReply]:
        """The answer to a question that costs nothing; how long it may take is the caller's to bound. Raises `ModelError`."""
        deadlines = self._settings.deadlines
        timeouts: dict[str, float | None] = {"connect": deadlines.connect_s, "write": deadlines.write_s}
        try:
            reply = await self._answer("GET", headers, None, timeouts)
        except UNSENT as error:
            raise sending_error(error, shown_url(self.url)) from error
        try:
            yield reply
        finally:
            await reply.aclose()

    async def aclose(self) -> None:
        """Close idle connections; the next request would open new ones."""
        pool, self._pool = self._pool, None
        if pool is not None and self._loop == anyio.lowlevel.current_token():
            await pool.aclose()

    async def _answer(
        self, method: str, headers: Mapping[str, str], body: bytes | None, timeouts: dict[str, float | None]
    ) -> HttpReply:
        """The reply, its head read. Raises what stands in `UNSENT`."""
        pool, target, shown = self._open(), target_of(self.url), shown_url(self.url)
        sent = self._all_headers(target.host_header, target.authorization, headers, body)
        request = httpcore2.Request(
            method, core_url(target), headers=sent, content=body, extensions={"timeout": timeouts}
        )
        log_request(method, shown, body or b"")
        reply = HttpReply(shown, await pool.handle_async_request(request), body or b"")
        log_reply(reply.status, shown, reply.request_id)
        return reply

    def _open(self) -> httpcore2.AsyncConnectionPool:
        # Connections belong to the event loop that made them: a model that outlives its loop starts with fresh ones.
        loop = anyio.lowlevel.current_token()
        if self._pool is None or self._loop != loop:
            self._pool, self._loop = new_pool(self.url, self._settings.environment), loop
        return self._pool

    def _all_headers(
        self, host: str, authorization: str, headers: Mapping[str, str], body: bytes | None
    ) -> list[tuple[bytes, bytes]]:
        """A later header takes the place of an earlier one of the same name, however that is written. Raises ValueError for text
        that no header can carry; the library looks at the rest."""
        layers: tuple[Mapping[str, str], ...] = (
            {"host": host, "user-agent": "ostinato"},
            {"accept": "text/event-stream", "accept-encoding": "identity"},
            self._settings.extra_headers,
            headers,
            {"authorization": authorization} if authorization else {},
            {} if body is None else {"content-length": str(len(body))},
        )
        together = {name.lower(): value for layer in layers for name, value in layer.items()}
        return [(name.encode("ascii"), value.encode("ascii")) for name, value in together.items()]


def _headers(raw: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """By names in lower case; what came twice is joined."""
    headers: dict[str, str] = {}
    for wire_name, wire_value in raw:
        name, value = wire_name.decode("ascii").lower(), wire_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _unpacker(encoding: str) -> Callable[[bytes], bytes] | None:
    """For a body that was packed though nobody asked for it; an encoding other than `gzip` and `deflate` is left as it is."""
    if encoding.strip().lower() not in {"gzip", "x-gzip", "deflate"}:
        return None
    import zlib  # ruff: ignore[import-outside-top-level] - hardly any server does this

    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress  # either form, whichever it turns out to be

    def unpacked(chunk: bytes) -> bytes:
        try:
            return unpack(chunk)
        except zlib.error as error:
            raise httpcore2.RemoteProtocolError(f"it cannot be unpacked: {error}") from error

    return unpacked


def sending_error(error: Exception, url: str) -> ModelError:
    """No answer came: which address (`shown_url`), and what to look at."""
    if _is_certificate_error(error):
        return ModelError(
            f"the certificate of `{url}` is not trusted: {error}",
            kind="connection",
            hint="set `SSL_CERT_FILE` to a file with the certificate authority of your network or proxy",
        )
    if isinstance(error, httpcore2.TimeoutException):
        return ModelError(
            f"cannot reach `{url}` in time: {words_for(error)}",
            kind="connection" if isinstance(error, httpcore2.ConnectTimeout) else "timeout",
            retry=True,
            hint="check the base URL, the network and the proxy settings; the limits are `OSTINATO_CONNECT_TIMEOUT_S` and "
            "`OSTINATO_WRITE_TIMEOUT_S`",
        )
    if isinstance(error, httpcore2.LocalProtocolError | httpcore2.UnsupportedProtocol | ValueError):
        return ModelError(
            f"the request to `{url}` cannot be made: {error}",
            kind="connection",
            hint="check the base URL, the proxy, the key and the extra headers for characters that do not belong there",
        )
    return ModelError(
        f"cannot reach `{url}`: {words_for(error)}",
        kind="connection",
        retry=True,
        hint="check the base URL, the network and the proxy settings",
    )


def reading_error(error: Exception, url: str) -> ModelError:
    """The answer broke off."""
    return ModelError(
        f"the connection to `{url}` broke in the middle of the reply: {words_for(error)}",
        kind="stream_cut",
        retry=True,
        hint="if it keeps happening, look for a proxy between that closes long replies",
    )


def words_for(error: Exception) -> str:
    """What happened, for somebody who knows none of the names of the classes beneath."""
    text = str(error).strip()
    if text and not CLASS_NAME.search(text):
        return text
    return next(words for kind, words in WORDS if isinstance(error, kind))


def _is_certificate_error(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return True
        seen = seen.__cause__ or seen.__context__
    return "CERTIFICATE_VERIFY_FAILED" in str(error)

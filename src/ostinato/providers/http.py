"""One HTTP client for each adapter: made when first needed, kept so that connections live on, its failures translated.

A request is sent once. Whoever reads a reply to its end keeps the connection; whoever leaves early closes it.
Importing this module loads the HTTP library: adapters do so with their first request.
"""

import ssl
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import anyio.lowlevel
import httpx2

from ostinato.errors import ConfigurationError, ModelError
from ostinato.providers.address import proxy_for, shown_url
from ostinato.providers.exchange import MAX_ERROR_BYTES, HttpFailure, HttpSettings
from ostinato.providers.http_log import log_chunk, logging_hooks
from ostinato.providers.watchdog import Watchdog

KEEPALIVE_S = 60.0
"""How long an idle connection waits for the next turn: tools run in between."""

ERROR_BODY_S = 10.0
"""A server that refuses and then does not finish its sentence is not waited for."""

DRAIN_S = 1.0
MAX_DRAIN_BYTES = 64 * 1024
"""What may still follow the last event: a terminator, a late usage note. More is no longer worth the connection."""


class HttpReply:
    """An answer whose body is still arriving, chunk by chunk. `url` is the address as it may be shown."""

    def __init__(self, url: str, response: httpx2.Response, sent: bytes) -> None:
        self.url = url
        self.sent = sent
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self.is_finished = False
        self._response = response
        is_encoded = response.headers.get("content-encoding", "identity") != "identity"
        self._chunks: AsyncGenerator[bytes] = response.aiter_bytes() if is_encoded else response.aiter_raw()

    @property
    def request_id(self) -> str:
        """The provider's name for the request, empty if it gave none."""
        return self.headers.get("request-id") or self.headers.get("x-request-id") or ""

    async def next_chunk(self) -> bytes | None:
        """The next bytes as the network brings them, None at the end. Raises `ModelError` when the connection breaks, and
        `TimeoutError` when it brings nothing for the idle limit."""
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self.is_finished = True
            return None
        except httpx2.TimeoutException as error:
            self.is_finished = True
            raise TimeoutError from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            self.is_finished = True
            raise reading_error(error, self.url) from error
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
        headers = {name.lower(): value for name, value in self.headers.items()}
        return HttpFailure(self.url, self.status, headers, body, datetime.now(UTC), self.sent)

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
    """Posts bodies to one address. Made without cost; the connection pool comes with the first request."""

    def __init__(self, url: str, settings: HttpSettings) -> None:
        self.url = url
        self._settings = settings
        self._client: httpx2.AsyncClient | None = None
        self._loop: object = None

    @asynccontextmanager
    async def post(
        self, headers: Mapping[str, str], body: bytes, watchdog: Watchdog
    ) -> AsyncGenerator[HttpReply]:
        """Send once and give the reply as it comes. `watchdog` counts the wait. Raises `ModelError` if there is none."""
        deadlines = self._settings.deadlines
        timeouts = {
            "connect": deadlines.connect_s,
            "write": deadlines.write_s,
            "read": watchdog.left_s,
            "pool": None,
        }
        started_s = time.monotonic()
        try:
            client = self._open()
            request = client.build_request(
                "POST", self.url, headers=dict(headers), content=body, extensions={"timeout": timeouts}
            )
            response = await client.send(request, stream=True)
        except httpx2.ReadTimeout as error:
            watchdog.waited(time.monotonic() - started_s)
            raise watchdog.error(shown_url(self.url)) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise sending_error(error, shown_url(self.url)) from error
        watchdog.waited(time.monotonic() - started_s)
        # The library looks here again when it begins with the body.
        timeouts["read"] = deadlines.idle_s if watchdog.is_streamed else deadlines.whole_reply_s
        reply = HttpReply(shown_url(self.url), response, body)
        try:
            yield reply
        finally:
            await reply.aclose()

    async def aclose(self) -> None:
        """Close idle connections; the next request would open new ones."""
        client, self._client = self._client, None
        if client is not None and self._loop == anyio.lowlevel.current_token():
            await client.aclose()

    def _open(self) -> httpx2.AsyncClient:
        # Connections belong to the event loop that made them: a model that outlives its loop starts with fresh ones.
        loop = anyio.lowlevel.current_token()
        if self._client is None or self._loop != loop:
            self._client, self._loop = new_client(self.url, self._settings), loop
        return self._client


def new_client(url: str, settings: HttpSettings) -> httpx2.AsyncClient:
    """A client for this address: proxy and trust from the settings' environment, no time limit of its own."""
    proxy = proxy_for(url, settings.environment)
    return httpx2.AsyncClient(
        headers={
            "user-agent": "ostinato",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            **settings.extra_headers,
        },
        timeout=None,  # every request brings its own
        # The callers bound how much runs at once; a second bound here would only let them wait for one another.
        limits=httpx2.Limits(
            max_connections=None, max_keepalive_connections=100, keepalive_expiry=KEEPALIVE_S
        ),
        proxy=proxy,
        # The environment is the one we were given, read here: never a second look at the process's own.
        trust_env=False,
        event_hooks=logging_hooks(),
        verify=_trust(url, proxy, settings.environment),
    )


def _trust(url: str, proxy: str | None, environment: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Whom to believe. Plain http needs no certificates, and reading them costs tens of milliseconds."""
    if url.startswith("http://") and not (proxy or "").startswith("https://"):
        return False
    file, folder = environment.get("SSL_CERT_FILE"), environment.get("SSL_CERT_DIR")
    if not file and not folder:
        return True
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as error:
        raise ConfigurationError(
            f"the certificates in `{file or folder}` cannot be read: {error}",
            hint="`SSL_CERT_FILE` names a file of trusted certificates in PEM form",
        ) from error


def sending_error(error: Exception, url: str) -> ModelError:
    """No answer came: which address (`shown_url`), and what to look at."""
    if _is_certificate_error(error):
        return ModelError(
            f"the certificate of `{url}` is not trusted: {error}",
            kind="connection",
            hint="set `SSL_CERT_FILE` to a file with the certificate authority of your network or proxy",
        )
    if isinstance(error, httpx2.TimeoutException):
        return ModelError(
            f"cannot reach `{url}` in time ({type(error).__name__})",
            kind="connection" if isinstance(error, httpx2.ConnectTimeout) else "timeout",
            retry=True,
            hint="check the base URL, the network and the proxy settings; the limits are `OSTINATO_CONNECT_TIMEOUT_S` and "
            "`OSTINATO_WRITE_TIMEOUT_S`",
        )
    if isinstance(
        error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol | httpx2.InvalidURL | ValueError
    ):
        return ModelError(
            f"the request to `{url}` cannot be made: {error}",
            kind="connection",
            hint="check the base URL, the proxy, the key and the extra headers for characters that do not belong there",
        )
    return ModelError(
        f"cannot reach `{url}`: {str(error) or type(error).__name__}",
        kind="connection",
        retry=True,
        hint="check the base URL, the network and the proxy settings",
    )


def reading_error(error: Exception, url: str) -> ModelError:
    """The answer broke off."""
    return ModelError(
        f"the connection to `{url}` broke in the middle of the reply: {str(error) or type(error).__name__}",
        kind="stream_cut",
        retry=True,
        hint="if it keeps happening, look for a proxy between that closes long replies",
    )


def _is_certificate_error(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return True
        seen = seen.__cause__ or seen.__context__
    return "CERTIFICATE_VERIFY_FAILED" in str(error)

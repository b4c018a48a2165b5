"""One HTTP client for each adapter: made when first needed, kept so that connections live on, its failures translated.

A request is sent once. Whoever reads a reply to its end keeps the connection; whoever leaves early closes it.
Importing this module loads the network: adapters do so with their first request.
"""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import anyio.lowlevel

from ostinato.errors import ModelError
from ostinato.providers.address import shown_url
from ostinato.providers.exchange import MAX_ERROR_BYTES, HttpFailure, HttpSettings
from ostinato.providers.http_body import Body, body_of
from ostinato.providers.http_connection import Connection, connect
from ostinato.providers.http_faults import (
    NETWORK_FAULTS,
    ConnectTimeout,
    WriteTimeout,
    reading_error,
    sending_error,
)
from ostinato.providers.http_head import ReplyHead, request_head
from ostinato.providers.http_log import log_chunk, log_reply, log_request
from ostinato.providers.http_route import Route, route_to
from ostinato.providers.watchdog import Watchdog

KEEPALIVE_S = 60.0
"""How long an idle connection waits for the next turn: tools run in between."""

MAX_IDLE_CONNECTIONS = 100

ERROR_BODY_S = 10.0
"""A server that refuses and then does not finish its sentence is not waited for."""

DRAIN_S = 1.0
MAX_DRAIN_BYTES = 64 * 1024
"""What may still follow the last event: a terminator, a late usage note. More is no longer worth the connection."""


class HttpReply:
    """An answer whose body is still arriving. `url` is the address as it may be shown."""

    def __init__(
        self, url: str, connection: Connection, head: ReplyHead, begun: bytes, *, sent: bytes = b""
    ) -> None:
        self.url = url
        self.sent = sent
        self.status = head.status
        self.headers: Mapping[str, str] = head.headers
        self.idle_s = float("inf")
        self._connection = connection
        self._body: Body = body_of(head)
        self._keeps_alive = head.keeps_alive
        self._begun = begun  # what came together with the head
        self._is_broken = False

    @property
    def is_finished(self) -> bool:
        """Nothing more will come."""
        return self._is_broken or (self._body.is_finished and not self._begun)

    @property
    def is_reusable(self) -> bool:
        """The connection can serve the next request: the body was read to its very end, and nothing came behind it."""
        return self._keeps_alive and self.is_finished and not (self._is_broken or self._body.has_surplus)

    @property
    def request_id(self) -> str:
        """The provider's name for the request, empty if it gave none."""
        return self.headers.get("request-id") or self.headers.get("x-request-id") or ""

    async def next_chunk(self) -> bytes | None:
        """What the network brings next, without its frames; None at the end. Raises `ModelError` when the connection breaks, and
        `TimeoutError` when it brings nothing for the idle limit."""
        content = b""
        try:
            while not content:
                if self.is_finished:
                    return None
                content = self._body.feed(await self._next_bytes())
        except TimeoutError:
            self._is_broken = True
            raise
        except NETWORK_FAULTS as error:
            self._is_broken = True
            raise reading_error(error, self.url) from error
        log_chunk(content)
        return content

    async def _next_bytes(self) -> bytes:
        begun, self._begun = self._begun, b""
        if begun:
            return begun
        with anyio.fail_after(self.idle_s):
            data = await self._connection.receive()
        if not data:
            self._keeps_alive = False
            self._body.close()
        return data

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
        drained_bytes = 0
        try:
            with anyio.move_on_after(DRAIN_S):
                while drained_bytes <= MAX_DRAIN_BYTES and (chunk := await self.next_chunk()) is not None:
                    drained_bytes += len(chunk)
        except (ModelError, TimeoutError):
            pass  # the reply itself is complete; the next request will open a new connection


class HttpClient:
    """Sends to one address. Made without cost; the connections come with the requests."""

    def __init__(self, url: str, settings: HttpSettings) -> None:
        self.url = url
        self._settings = settings
        self._route: Route | None = None
        self._idle: list[Connection] = []
        self._loop: object = None

    @asynccontextmanager
    async def post(
        self, headers: Mapping[str, str], body: bytes, watchdog: Watchdog
    ) -> AsyncGenerator[HttpReply]:
        """Send once and give the reply as it comes. `watchdog` counts the wait. Raises `ModelError` if there is none."""
        deadlines = self._settings.deadlines
        started_s = time.monotonic()
        try:
            connection = await self._sent("POST", headers, body)
            reply = await self._answer(connection, body, watchdog.left_s)
        except (ConnectTimeout, WriteTimeout) as error:
            raise sending_error(error, shown_url(self.url)) from error
        except TimeoutError as error:
            watchdog.waited(time.monotonic() - started_s)
            raise watchdog.error(shown_url(self.url)) from error
        except (*NETWORK_FAULTS, ValueError) as error:
            raise sending_error(error, shown_url(self.url)) from error
        watchdog.waited(time.monotonic() - started_s)
        reply.idle_s = deadlines.idle_s if watchdog.is_streamed else deadlines.whole_reply_s
        try:
            yield reply
        finally:
            await self._give_back(connection, reply)

    async def get(self, headers: Mapping[str, str], *, max_bytes: int) -> tuple[int, bytes]:
        """Status and body of an answer, read whole; how long that may take is the caller's to bound. Raises `ModelError` if there
        is none, or more of it than `max_bytes`."""
        url = shown_url(self.url)
        try:
            connection = await self._sent("GET", headers, b"")
            reply = await self._answer(connection, b"", float("inf"))
        except (*NETWORK_FAULTS, ValueError) as error:
            raise sending_error(error, url) from error
        try:
            body = bytearray()
            while (chunk := await reply.next_chunk()) is not None:
                body += chunk
                if len(body) > max_bytes:
                    raise reading_error(ValueError(f"the answer has more than {max_bytes:,} bytes"), url)
            return reply.status, bytes(body)
        finally:
            await self._give_back(connection, reply)

    async def aclose(self) -> None:
        """Close idle connections; the next request would open new ones."""
        idle, self._idle = self._idle, []
        if self._loop == anyio.lowlevel.current_token():
            for connection in idle:
                await connection.aclose()

    async def _sent(self, method: str, headers: Mapping[str, str], body: bytes) -> Connection:
        """The connection on which the request went out."""
        deadlines = self._settings.deadlines
        route = self._way()
        head = request_head(method, route.request_target, self._all_headers(route, headers, body))
        log_request(method, shown_url(self.url), body)
        connection = await self._open_connection(route)
        try:
            await connection.send(head + body, timeout_s=deadlines.write_s)
        except BaseException:
            await connection.aclose()
            raise
        return connection

    async def _answer(self, connection: Connection, sent: bytes, timeout_s: float) -> HttpReply:
        """Raises TimeoutError when the head of the answer does not come in time."""
        try:
            with anyio.fail_after(timeout_s):
                head, begun = await connection.receive_head()
        except BaseException:
            await connection.aclose()
            raise
        reply = HttpReply(shown_url(self.url), connection, head, begun, sent=sent)
        log_reply(reply.status, reply.url, reply.request_id)
        return reply

    def _way(self) -> Route:
        if self._route is None:
            self._route = route_to(self.url, self._settings.environment)
        return self._route

    def _all_headers(self, route: Route, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        """A later header takes the place of an earlier one of the same name, however that is written."""
        authorization = route.target.authorization
        layers = (
            route.headers,
            {"user-agent": "ostinato", "accept": "text/event-stream", "accept-encoding": "identity"},
            self._settings.extra_headers,
            headers,
            {"authorization": authorization} if authorization else {},
            {"content-length": str(len(body))} if body else {},
        )
        return {name.lower(): value for layer in layers for name, value in layer.items()}

    async def _open_connection(self, route: Route) -> Connection:
        """The one that rested last, unless it rested too long or its server did not keep quiet; else a new one."""
        # Connections belong to the event loop that made them: a model that outlives its loop starts with fresh ones.
        loop = anyio.lowlevel.current_token()
        if self._loop != loop:
            self._idle, self._loop = [], loop
        while self._idle:
            connection = self._idle.pop()
            if time.monotonic() - connection.idle_since_s < KEEPALIVE_S and connection.is_quiet():
                return connection
            await connection.aclose()
        return await connect(route, timeout_s=self._settings.deadlines.connect_s)

    async def _give_back(self, connection: Connection, reply: HttpReply) -> None:
        if reply.is_reusable and len(self._idle) < MAX_IDLE_CONNECTIONS:
            connection.idle_since_s = time.monotonic()
            self._idle.append(connection)
        else:
            await connection.aclose()

"""One HTTP/1.1 connection: opened directly or through a proxy, one exchange at a time, usable again while nothing went wrong.

Whatever breaks in it closes it, and so does being cancelled in the middle.
"""

import select
import ssl

import anyio
import anyio.abc

from ostinato.providers.http_faults import ConnectTimeout, ProxyRefused, WriteTimeout
from ostinato.providers.http_head import FIRST_FINAL_STATUS, BadReply, ReplyHead, read_head, request_head
from ostinato.providers.http_route import Route, proxy_authorization
from ostinato.providers.http_target import HttpTarget

SWITCHING_PROTOCOLS = 101
OK_STATUSES = range(200, 300)


class Connection:
    """`idle_since_s` is the pool's to keep, on a monotonic clock."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self.idle_since_s = 0.0
        self._stream = stream
        self._poll = select.poll()
        self._poll.register(stream.extra(anyio.abc.SocketAttribute.raw_socket).fileno(), select.POLLIN)

    async def send(self, data: bytes, *, timeout_s: float) -> None:
        """Raises WriteTimeout. A server that closed already may have answered all the same: that is for the reading to tell."""
        try:
            with anyio.fail_after(timeout_s):
                await self._stream.send(data)
        except TimeoutError as error:
            raise WriteTimeout from error
        except anyio.BrokenResourceError:
            pass

    async def receive(self) -> bytes:
        """What the network brings next, empty at the end. Raises OSError and `anyio.BrokenResourceError` when it breaks."""
        try:
            return await self._stream.receive()
        except anyio.EndOfStream:
            return b""

    async def receive_head(self) -> tuple[ReplyHead, bytes]:
        """The head of the answer and what came with it. Raises BadReply."""
        data = b""
        while True:
            found = read_head(data)
            if found is None:
                more = await self.receive()
                if not more:
                    raise BadReply("the server closed the connection without an answer")
                data += more
                continue
            head, size = found
            data = data[size:]
            if head.status == SWITCHING_PROTOCOLS:
                raise BadReply("the server wants to speak something else")
            if head.status >= FIRST_FINAL_STATUS:  # those below only announce it
                return head, data

    def is_quiet(self) -> bool:
        """Whether nothing came while nobody asked. A connection that the server closed, or talks on, is not to be used."""
        return not self._poll.poll(0)

    async def aclose(self) -> None:
        await anyio.aclose_forcefully(self._stream)


async def connect(route: Route, *, timeout_s: float) -> Connection:
    """Raises ConnectTimeout, OSError (also for TLS), ProxyRefused, BadReply from a proxy, ValueError for an impossible host."""
    try:
        with anyio.fail_after(timeout_s):
            return Connection(await _stream(route))
    except TimeoutError as error:
        raise ConnectTimeout from error


async def _stream(route: Route) -> anyio.abc.ByteStream:
    if route.proxy is None:
        return await _open(route.target, route.trust)
    stream = await _open(route.proxy, route.trust)
    if not route.target.is_tls:
        return stream
    try:
        await _ask_for_tunnel(Connection(stream), route.proxy, route.target)
        return await _greet(stream, route.target, route.trust)
    except BaseException:
        await anyio.aclose_forcefully(stream)
        raise


async def _open(place: HttpTarget, trust: ssl.SSLContext | None) -> anyio.abc.ByteStream:
    stream = await anyio.connect_tcp(place.host, place.port)
    if not place.is_tls:
        return stream
    try:
        return await _greet(stream, place, trust)
    except BaseException:
        await anyio.aclose_forcefully(stream)
        raise


async def _greet(
    stream: anyio.abc.ByteStream, place: HttpTarget, trust: ssl.SSLContext | None
) -> anyio.abc.ByteStream:
    from anyio.streams.tls import TLSStream  # ruff: ignore[import-outside-top-level] - a server next door needs none

    # Servers end without the closing greeting; the frames of the body tell a cut from an end.
    return await TLSStream.wrap(stream, hostname=place.host, ssl_context=trust, standard_compatible=False)


async def _ask_for_tunnel(connection: Connection, proxy: HttpTarget, target: HttpTarget) -> None:
    headers = {"host": target.authority, **proxy_authorization(proxy)}
    await connection.send(request_head("CONNECT", target.authority, headers), timeout_s=float("inf"))
    head, _ = await connection.receive_head()
    if head.status not in OK_STATUSES:
        raise ProxyRefused(f"the proxy refuses with status {head.status}")

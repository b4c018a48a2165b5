"""Reads one page: follows redirects inside a site with every hop checked anew, stops at a size and a time, remembers for a while.

A redirect to another site is handed back: whether that may be read is for the rules to say.
"""

import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final

import anyio
import httpcore2
import msgspec

from ostinato.errors import UsageError
from ostinato.version import VERSION
from ostinato.web.addresses import NOWHERE_ELSE, AllowedPlaces, address_problem, is_number
from ostinato.web.kept_answers import KeptAnswers
from ostinato.web.pinned_network import PinnedNetwork, Resolve, checked_addresses, resolved
from ostinato.web.unpacking import unpacking
from ostinato.web.web_address import PORTS, WebAddress, led_to, over_tls, web_address
from ostinato.web_pages import WebAnswer

MAX_REDIRECTS: Final = 10
CONNECT_S: Final = 15.0

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
FAILURES: Final = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
    ssl.SSLError,
    ValueError,
)


class ReadLimits(msgspec.Struct, frozen=True):
    """Of one page with all its redirects. What is longer than `max_body_bytes`, unpacked, is cut there."""

    total_s: float = 60.0
    max_body_bytes: int = 10_000_000


DEFAULT_LIMITS: Final = ReadLimits()


def no_proxy(url: str) -> str | None:
    """Straight there."""
    del url


class WebReader:
    """Implements `Web`. `proxy_for` names the proxy for an address, if there is one: then it looks up the name, and what can be
    known here of where it leads is checked all the same.
    """

    def __init__(
        self,
        allowed: AllowedPlaces = NOWHERE_ELSE,
        *,
        resolve: Resolve = resolved,
        problem_of: Callable[[str], str | None] = address_problem,
        proxy_for: Callable[[str], str | None] = no_proxy,
        trust: Callable[[], ssl.SSLContext] = httpcore2.default_ssl_context,
        headers: Mapping[str, str] = NO_HEADERS,
        limits: ReadLimits = DEFAULT_LIMITS,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._problem_of = problem_of
        self._proxy_for = proxy_for
        self._trust = trust
        self._headers = headers
        self._limits = limits
        self._kept = KeptAnswers(monotonic_s)

    async def check(self, url: str) -> None:
        """A name is not looked up for this: whoever is asked would learn it. Numbers, and the name of this machine, need nobody."""
        address = self._upgraded(web_address(url))
        if is_number(address.host) or address.host == "localhost":
            await self._refuse_known(address)

    async def get(self, url: str) -> WebAnswer:
        address = self._upgraded(web_address(url))
        kept = self._kept.get(str(address))
        if kept is not None:
            return kept
        with anyio.move_on_after(self._limits.total_s):
            answer = await self._followed(address)
            self._kept.put(str(address), answer)
            return answer
        raise UsageError(
            f"`{address}` gave no whole answer within {self._limits.total_s:g} s",
            hint="try another page, or later",
        )

    async def _followed(self, address: WebAddress) -> WebAnswer:
        for _ in range(MAX_REDIRECTS + 1):
            answer, location = await self._once(address)
            if location is None:
                return answer
            target = self._upgraded(led_to(address, location))
            if not target.is_same_site(address):
                return WebAnswer(str(address), answer.status, moved_to=str(target))
            address = target
        raise UsageError(f"`{address}` redirects more than {MAX_REDIRECTS} times", hint="it leads nowhere")

    def _upgraded(self, address: WebAddress) -> WebAddress:
        """A public page is never read in the open; a place that was allowed by name is spoken to as it is written."""
        return address if self._allowed.names(address.host, address.port) else over_tls(address)

    def _judge(self, host: str, port: int, address: str) -> str | None:
        problem = self._problem_of(address)
        return None if problem is None or self._allowed.covers(host, port, address) else problem

    async def _once(self, address: WebAddress) -> tuple[WebAnswer, str | None]:
        """An answer, or where a redirect leads."""
        try:
            async with (
                await self._pool(address) as pool,
                pool.stream(
                    "GET",
                    _core_url(address),
                    headers=self._all_headers(address),
                    extensions={
                        "timeout": {
                            "connect": CONNECT_S,
                            "read": self._limits.total_s,
                            "write": self._limits.total_s,
                        }
                    },
                ) as response,
            ):
                headers = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in response.headers
                }
                if response.status in REDIRECTS and "location" in headers:
                    return WebAnswer(str(address), response.status), _as_sent(headers["location"])
                body, is_cut = await self._read(response, headers.get("content-encoding", ""))
                kind = headers.get("content-type", "")
                return WebAnswer(str(address), response.status, kind, body, is_cut), None
        except FAILURES as error:
            said = str(error).strip() or type(error).__name__
            raise UsageError(
                f"`{address}` cannot be read: {said}", hint="check the address, or try another page"
            ) from error

    async def _read(self, response: httpcore2.Response, encoding: str) -> tuple[bytes, bool]:
        """The body up to its limit, unpacked on the way: what is left out is never held."""
        packed = unpacking(encoding)
        body = bytearray()
        chunks = response.aiter_stream()
        try:
            async for chunk in chunks:
                room = self._limits.max_body_bytes - len(body)
                plain = packed.some(chunk, room + 1)
                body += plain[:room]
                if len(plain) > room:
                    return bytes(body), True
            return bytes(body), not packed.is_whole
        finally:
            await _left(response, chunks)

    async def _pool(self, address: WebAddress) -> httpcore2.AsyncConnectionPool:
        proxy = self._proxy_for(str(address))
        trust = self._trust() if address.scheme == "https" else None
        if proxy is None:
            network = PinnedNetwork(self._resolve, self._judge)
            return httpcore2.AsyncConnectionPool(ssl_context=trust, network_backend=network, retries=0)
        await self._refuse_known(address)
        return httpcore2.AsyncConnectionPool(ssl_context=trust, proxy=httpcore2.Proxy(proxy), retries=0)

    async def _refuse_known(self, address: WebAddress) -> None:
        """Raises UsageError for what is known here to be private; a proxy may know names that nobody here does."""
        try:
            await checked_addresses(address.host, address.port, self._resolve, self._judge)
        except UsageError as error:
            if not isinstance(error.__cause__, OSError):
                raise

    def _all_headers(self, address: WebAddress) -> list[tuple[bytes, bytes]]:
        named = {
            "host": address.host_header,
            "user-agent": f"ostinato/{VERSION}",
            "accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
            "accept-encoding": "gzip, deflate",
            **{name.lower(): value for name, value in self._headers.items()},
        }
        return [(name.encode("ascii"), value.encode("ascii")) for name, value in named.items()]


def _as_sent(location: str) -> str:
    """Letters that should have been escaped are UTF-8, as browsers take them, where they can be."""
    with suppress(UnicodeDecodeError):
        return location.encode("latin-1").decode()
    return location


async def _left(response: httpcore2.Response, chunks: AsyncIterator[bytes]) -> None:
    """The library's generators stand one inside the other: reading what the closed connection still holds ends them here and now, not
    in another task at another time.
    """
    await response.aclose()
    with suppress(*FAILURES):
        async for _ in chunks:
            pass


def _core_url(address: WebAddress) -> httpcore2.URL:
    port = None if address.port == PORTS[address.scheme] else address.port
    return httpcore2.URL(scheme=address.scheme, host=address.host, port=port, target=address.target)

"""Connections to checked addresses: a name is looked up once, every address it has is judged, and the connection goes to one of
those. Who answers the next look-up otherwise changes nothing.
"""

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, cast

import anyio
import httpcore2

from ostinato.errors import UsageError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Every address of a host. Raises OSError when there is none."""

Judge = Callable[[str, int, str], str | None]
"""What is wrong with connecting to this host, port and address; None for nothing."""


class RefusedAddress(UsageError):
    """The host leads to where nobody may go."""


async def resolved(host: str, port: int) -> Sequence[str]:
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def checked_addresses(host: str, port: int, resolve: Resolve, judge: Judge) -> Sequence[str]:
    """The addresses of the host, all of them allowed. Raises UsageError."""
    try:
        addresses = await resolve(host, port)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"there is no host `{host}`: {error}", hint="check the address") from error
    for address in addresses:
        problem = judge(host, port, address)
        if problem is not None:
            raise RefusedAddress(
                f"`{host}` leads to {address}, which is {problem}: such are not read",
                hint="the user can allow it with the setting `web.privateHosts` (`web_private_hosts` in a program)",
            )
    return addresses


class PinnedNetwork(httpcore2.AsyncNetworkBackend):
    """Implements the HTTP library's network. TLS still names and proves the host, not the address."""

    def __init__(self, resolve: Resolve, judge: Judge) -> None:
        self._resolve = resolve
        self._judge = judge
        self._network = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception = httpcore2.ConnectError(f"`{host}` has no address")
        for address in await checked_addresses(host, port, self._resolve, self._judge):
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        del path, timeout, socket_options
        raise httpcore2.ConnectError("the web has no local sockets")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)

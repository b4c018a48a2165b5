"""An address of the web taken apart and made safe to send: `http` or `https`, no password in it, ASCII throughout."""

from typing import Final
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from ostinato.errors import UsageError
from ostinato.web_host import host_of

PORTS: Final = {"http": 80, "https": 443}
MAX_CHARACTERS: Final = 4_000

SAFE: Final = "/%!$&'()*+,;=:@~-._"


class WebAddress(msgspec.Struct, frozen=True):
    """`host` has no brackets; `target` is path and query; `has_port`: one was written."""

    scheme: str
    host: str
    port: int
    target: str
    has_port: bool = False

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host_header}{self.target}"

    def is_same_site(self, other: "WebAddress") -> bool:
        """The same host, with or without `www.`, at the same or the usual port."""
        same_host = self.host.removeprefix("www.") == other.host.removeprefix("www.")
        return same_host and (self.port == other.port or not (self.has_port or other.has_port))


def web_address(text: str) -> WebAddress:
    """Raises UsageError."""
    hint = "give a whole address, such as `https://example.org/page`"
    shown = text if len(text) <= 200 else f"{text[:200]}…"
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"`{shown}` is too long for an address", hint=f"at most {MAX_CHARACTERS} characters")
    try:
        parts = urlsplit(text.strip())
        host, port = host_of(parts), parts.port
    except ValueError as error:
        raise UsageError(f"`{shown}` is no address of a page: {error}", hint=hint) from error
    if parts.scheme not in PORTS or not host or any(letter.isspace() for letter in parts.netloc):
        raise UsageError(f"`{shown}` is no address of a page", hint=hint)
    if parts.username is not None or parts.password is not None:
        raise UsageError("the address has a name or password in it", hint="leave them out")
    query = f"?{quote(parts.query, safe=SAFE + '?[]')}" if parts.query else ""
    target = (quote(parts.path, safe=SAFE) or "/") + query
    return WebAddress(parts.scheme, host, port or PORTS[parts.scheme], target, port is not None)


def over_tls(address: WebAddress) -> WebAddress:
    """The same over `https`, unless a port says that it is something of its own."""
    if address.scheme == "https" or address.has_port:
        return address
    return WebAddress("https", address.host, PORTS["https"], address.target)


def led_to(address: WebAddress, location: str) -> WebAddress:
    """Where a redirect leads. Raises UsageError."""
    try:
        target = urljoin(str(address), location)
    except ValueError as error:
        raise UsageError(
            f"`{address}` leads to what is no address: {error}", hint="try another page"
        ) from error
    return web_address(target)

"""An address taken apart into what a request says: where to, which path, and whom a name and password in it stand for."""

from base64 import b64encode
from urllib.parse import quote, unquote, urlsplit

import msgspec

DEFAULT_PORTS = {"http": 80, "https": 443}

SAFE_IN_PATH = "/%!$&'()*+,;=:@~-._"
SAFE_IN_QUERY = SAFE_IN_PATH + "?[]"
"""What is written in percent signs already stays so."""


class HttpTarget(msgspec.Struct, frozen=True):
    """`host` is ASCII, without brackets; `path` begins with a slash and holds the query."""

    scheme: str
    host: str
    port: int
    path: str
    user: str = ""
    password: str = ""

    @property
    def host_header(self) -> str:
        """Host and, where it is not the usual one, port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def authorization(self) -> str:
        """The header for name and password, empty without."""
        pair = f"{self.user}:{self.password}"
        return "" if pair == ":" else f"Basic {b64encode(pair.encode()).decode()}"


def target_of(url: str) -> HttpTarget:
    """Raises ValueError for what is no `http` or `https` address."""
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError(f"`{parts.scheme}` cannot be spoken here, only `http` and `https` can")
    host = parts.hostname
    query = f"?{quote(parts.query, safe=SAFE_IN_QUERY)}" if parts.query else ""
    return HttpTarget(
        parts.scheme,
        host if host.isascii() else host.encode("idna").decode(),
        parts.port or DEFAULT_PORTS[parts.scheme],
        (quote(parts.path, safe=SAFE_IN_PATH) or "/") + query,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )

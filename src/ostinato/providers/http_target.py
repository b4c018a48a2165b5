"""Where a request goes: an address taken apart into what a connection needs and what a request line says."""

from base64 import b64encode
from urllib.parse import quote, unquote, urlsplit

import msgspec

DEFAULT_PORTS = {"http": 80, "https": 443}

SAFE_IN_PATH = "/%!$&'()*+,;=:@~-._"
SAFE_IN_QUERY = SAFE_IN_PATH + "?[]"
"""What is already written in percent signs stays."""


class HttpTarget(msgspec.Struct, frozen=True):
    """`host` is ASCII, without brackets. `path` begins with a slash and holds the query. `authorization` is the header that a
    name and password in the address stand for, or empty.
    """

    scheme: str
    host: str
    port: int
    path: str
    authorization: str = ""

    @property
    def is_tls(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port, as `CONNECT` wants them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def host_header(self) -> str:
        """Host and, where it is not the usual one, port."""
        is_usual = self.port == DEFAULT_PORTS[self.scheme]
        return self.authority.removesuffix(f":{self.port}") if is_usual else self.authority


def target_of(url: str) -> HttpTarget:
    """Raises ValueError for what is no `http` or `https` address."""
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError(
            f"`{parts.scheme}` is no scheme that can be spoken here, only `http` and `https` are"
        )
    host = parts.hostname
    query = f"?{quote(parts.query, safe=SAFE_IN_QUERY)}" if parts.query else ""
    return HttpTarget(
        parts.scheme,
        host if host.isascii() else host.encode("idna").decode(),
        parts.port or DEFAULT_PORTS[parts.scheme],
        (quote(parts.path, safe=SAFE_IN_PATH) or "/") + query,
        _basic(parts.username, parts.password),
    )


def _basic(username: str | None, password: str | None) -> str:
    if not (username or password):
        return ""
    pair = f"{unquote(username or '')}:{unquote(password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"

"""Plain data of an HTTP exchange: how to connect, and what a refusal said. Free to import; no HTTP library behind it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from ostinato.providers.deadlines import DEFAULT_DEADLINES, Deadlines

MAX_ERROR_BYTES = 64 * 1024
"""How much of a refusal is read: error pages have no end in sight."""

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""How large a reply in one piece may be: far beyond the longest output of any model."""


class HttpSettings(msgspec.Struct, frozen=True):
    """`environment` is asked for proxies (`HTTPS_PROXY`, `NO_PROXY` …) and certificates (`SSL_CERT_FILE`, `SSL_CERT_DIR`)."""

    environment: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    extra_headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    deadlines: Deadlines = DEFAULT_DEADLINES


class HttpFailure(msgspec.Struct, frozen=True):
    """An answer that is no reply: what the server said, at most `MAX_ERROR_BYTES` of it. Header names are lower case, `url` is the
    address as it may be shown.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    received_at: datetime
    sent: bytes = b""
    """The body of the request that was refused: what was in it tells what may have been too much."""

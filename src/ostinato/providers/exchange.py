"""Plain data of an HTTP exchange: how to connect, and what a refusal said. Free to import; no HTTP library behind it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

CONNECT_TIMEOUT_S = 15.0
READ_TIMEOUT_S = 300.0
WRITE_TIMEOUT_S = 60.0

MAX_ERROR_BYTES = 64 * 1024
"""How much of a refusal is read: error pages have no end in sight."""


class HttpSettings(msgspec.Struct, frozen=True):
    """`environment` is asked for proxies (`HTTPS_PROXY`, `NO_PROXY` …) and certificates (`SSL_CERT_FILE`, `SSL_CERT_DIR`)."""

    environment: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    extra_headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    read_timeout_s: float = READ_TIMEOUT_S
    write_timeout_s: float = WRITE_TIMEOUT_S


class HttpFailure(msgspec.Struct, frozen=True):
    """An answer that is no reply: what the server said, at most `MAX_ERROR_BYTES` of it. Header names are lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    received_at: datetime

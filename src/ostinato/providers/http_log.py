"""What is logged of an exchange: sizes and ids on one logger, and what is said on another, so that a log without it can be
shown to others. Headers are never logged: keys travel in them.
"""

import logging
from typing import Final

_EXCHANGES: Final = logging.getLogger("ostinato.http")
_CONTENT: Final = logging.getLogger("ostinato.http.content")


def log_request(method: str, url: str, body: bytes) -> None:
    """`url` as it may be shown."""
    _EXCHANGES.debug("%s %s, %d bytes", method, url, len(body))
    if is_content_logged():
        _CONTENT.debug("sent: %s", body.decode("utf-8", "replace"))


def log_reply(status: int, url: str, request_id: str) -> None:
    """`url` as it may be shown."""
    _EXCHANGES.debug("%d from %s, request id %s", status, url, request_id or "none")


def is_content_logged() -> bool:
    """Whether anybody looks at what is said; asked once for each reply."""
    return _CONTENT.isEnabledFor(logging.DEBUG)


def log_chunk(chunk: bytes) -> None:
    """A piece of a reply as the network brought it."""
    _CONTENT.debug("came: %s", chunk.decode("utf-8", "replace"))

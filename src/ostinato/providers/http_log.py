"""What is logged of an exchange: sizes and ids on one logger, and what is said on another, so that a log without it can be
shown to others. Headers are never logged: keys travel in them.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import httpx2

from ostinato.providers.address import shown_url

_EXCHANGES: Final = logging.getLogger("ostinato.http")
_CONTENT: Final = logging.getLogger("ostinato.http.content")


async def _log_request(request: httpx2.Request) -> None:
    _EXCHANGES.debug("%s %s, %d bytes", request.method, shown_url(str(request.url)), len(request.content))
    if _CONTENT.isEnabledFor(logging.DEBUG):
        _CONTENT.debug("sent: %s", request.content.decode("utf-8", "replace"))


async def _log_response(response: httpx2.Response) -> None:
    request_id = response.headers.get("request-id") or response.headers.get("x-request-id") or "none"
    _EXCHANGES.debug(
        "%d from %s, request id %s", response.status_code, shown_url(str(response.url)), request_id
    )


def logging_hooks() -> Mapping[str, list[Callable[[Any], Awaitable[None]]]]:
    """For the HTTP client, which calls them around each exchange."""
    return {"request": [_log_request], "response": [_log_response]}


def log_chunk(chunk: bytes) -> None:
    """A piece of a reply as the network brought it."""
    if _CONTENT.isEnabledFor(logging.DEBUG):
        _CONTENT.debug("came: %s", chunk.decode("utf-8", "replace"))

"""A model file over HTTP: ranges resume what is there, a cut connection is taken up again, a server that goes quiet is left.

Proxies, their exceptions and custom certificates come from the environment, as everywhere in the providers.
"""

import httpx2

from ostinato.providers.local_part import PartFile, SourceFailed

CONNECT_TIMEOUT_S = 20.0
QUIET_TIMEOUT_S = 60.0
"""A download that brings no byte for a minute is given up."""

MAX_IDLE_CUTS = 3
"""Cuts in a row without one new byte before the source is given up; a cut after progress starts the count anew."""

PARTIAL_CONTENT = 206


async def fetch_url(url: str, part: PartFile) -> None:
    """Append what `part` still lacks. Raises `SourceFailed` for refusals, wrong sizes and dead connections."""
    timeout = httpx2.Timeout(QUIET_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    async with httpx2.AsyncClient(follow_redirects=True, timeout=timeout) as client:
        idle_cuts = 0
        while not part.is_complete:
            before = part.done_bytes
            try:
                await _fetch_rest(client, url, part)
                if not part.is_complete and part.done_bytes == before:
                    raise SourceFailed(f"it ends after {part.done_bytes:,} of {part.total_bytes:,} bytes")
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                idle_cuts = 0 if part.done_bytes > before else idle_cuts + 1
                if idle_cuts >= MAX_IDLE_CUTS or isinstance(
                    error, httpx2.InvalidURL | httpx2.UnsupportedProtocol
                ):
                    raise SourceFailed(str(error) or type(error).__name__) from error


async def _fetch_rest(client: httpx2.AsyncClient, url: str, part: PartFile) -> None:
    # Plain bytes only: with a content encoding, neither the range nor the length would be those of the file.
    headers = {"Accept-Encoding": "identity"}
    if part.done_bytes:
        headers["Range"] = f"bytes={part.done_bytes}-"
    async with client.stream("GET", url, headers=headers) as response:
        if not response.is_success:
            raise SourceFailed(f"the server answers with status {response.status_code}")
        if response.status_code != PARTIAL_CONTENT:
            part.restart()
        _check_span(response, part)
        # Written as it arrives: a buffer would lose its bytes at a cut.
        async for block in response.aiter_bytes():
            await part.append(block)


def _check_span(response: httpx2.Response, part: PartFile) -> None:
    """A server that holds another file says so in its headers: found out before a gigabyte is loaded."""
    if response.status_code == PARTIAL_CONTENT:
        claimed = response.headers.get("content-range", "")
        expected = f"bytes {part.done_bytes}-{part.total_bytes - 1}/{part.total_bytes}"
        if claimed != expected:
            raise SourceFailed(f"the server sends `{claimed}` where `{expected}` was asked for")
    elif (length := response.headers.get("content-length")) not in {None, str(part.total_bytes)}:
        raise SourceFailed(f"the server holds {length} bytes, {part.total_bytes} expected")

"""Looks at a server without asking it for anything that costs: whether it answers, whether its certificate is trusted, which
models it says it has. Every look has a deadline.
"""

import time
from collections.abc import Mapping
from typing import Final

import anyio
import msgspec

from ostinato.errors import ConfigurationError, ModelError
from ostinato.providers.address import endpoint_url, proxy_for, shown_url
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.http import HttpClient, HttpReply

MAX_LIST_BYTES: Final = 4 * 1024 * 1024
"""A list of models is small; more than this is something else."""


class Reached(msgspec.Struct, frozen=True):
    """The server answered, whatever it said. `proxy` is the one that was used, "" for none."""

    status: int
    seconds: float
    proxy: str = ""


class Unreached(msgspec.Struct, frozen=True):
    """No answer, or none that says what was asked; `hint` is what to look at."""

    what: str
    hint: str = ""


class _Answer(msgspec.Struct, frozen=True):
    status: int
    body: bytes


class _WireModel(msgspec.Struct, frozen=True):
    id: str


class _WireList(msgspec.Struct, frozen=True):
    data: tuple[_WireModel, ...] = ()


async def reach(base_url: str, settings: HttpSettings, *, timeout_s: float) -> Reached | Unreached:
    """Ask the server for its front page, without a key: any answer will do."""
    started_s = time.monotonic()
    got = await _get(base_url, settings, {}, timeout_s)
    if isinstance(got, Unreached):
        return got
    proxy = proxy_for(base_url, settings.environment) or ""
    return Reached(got.status, time.monotonic() - started_s, proxy)


async def served_models(
    base_url: str, settings: HttpSettings, headers: Mapping[str, str], *, timeout_s: float
) -> tuple[str, ...] | Unreached:
    """The names that the server's list of models holds, in its order. `headers` carry the key, if it wants one."""
    try:
        url = endpoint_url(base_url, "v1/models", version_is_implied=False)
    except ConfigurationError as error:
        return Unreached(error.message, error.hint)
    got = await _get(url, settings, headers, timeout_s)
    if isinstance(got, Unreached):
        return got
    if got.status != 200:
        return Unreached(f"it answers with status {got.status}", "look at the base URL and the key")
    try:
        return tuple(model.id for model in msgspec.json.decode(got.body, type=_WireList).data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Unreached("what it answers is no list of models", "look at the base URL")


async def _get(
    url: str, settings: HttpSettings, headers: Mapping[str, str], timeout_s: float
) -> _Answer | Unreached:
    client = HttpClient(url, settings)
    try:
        with anyio.fail_after(timeout_s):
            async with client.get({"accept": "application/json", **headers}) as reply:
                return _Answer(reply.status, await _read(reply))
    except TimeoutError:
        what = f"no answer from `{shown_url(url)}` within {timeout_s:g} s"
        return Unreached(what, "look at the base URL, the network and the proxy")
    except (ConfigurationError, ModelError) as error:
        return Unreached(error.message, error.hint)
    finally:
        await client.aclose()


async def _read(reply: HttpReply) -> bytes:
    """The body. Raises ModelError when it is too large to be a list."""
    body = bytearray()
    while (chunk := await reply.next_chunk()) is not None:
        body += chunk
        if len(body) > MAX_LIST_BYTES:
            what = f"the answer of `{reply.url}` has more than {MAX_LIST_BYTES:,} bytes"
            raise ModelError(what, kind="malformed_response", hint="look at the base URL")
    return bytes(body)

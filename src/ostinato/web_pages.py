"""What comes from the web, and who fetches it: tools ask through these doors, and know no HTTP."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec


class WebAnswer(msgspec.Struct, frozen=True):
    """A final answer. `url` is where it came from in the end; `is_cut`: the body was longer, and this is its beginning.

    `moved_to` is another site that it leads to: nobody went there, and there is no body.
    """

    url: str
    status: int
    content_type: str = ""
    body: bytes = b""
    is_cut: bool = False
    moved_to: str = ""


class Web(Protocol):
    async def check(self, url: str) -> None:
        """Raises UsageError as `get` would, as far as it is known without telling anybody of the address. Nothing leaves the machine."""
        ...

    async def get(self, url: str) -> WebAnswer:
        """Raises UsageError for an address that is none or is not allowed, and for one that gives no answer."""
        ...


class SearchQuery(msgspec.Struct, frozen=True):
    """`allowed_domains`: only these and what is below them; empty for all. `blocked_domains`: none of these."""

    query: str
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()


class SearchHit(msgspec.Struct, frozen=True):
    url: str
    title: str = ""
    snippet: str = ""


SearchWeb = Callable[[SearchQuery], Awaitable[Sequence[SearchHit]]]
"""Searches the web; best first. What it raises is told to the model."""

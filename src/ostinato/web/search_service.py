"""A search service that answers over HTTP with JSON: SearXNG, Brave, Tavily's and others' forms, or one of your own.

The address has `{query}` where the words belong. Of the answer the first list of objects with addresses counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import quote

import msgspec

from ostinato.errors import ConfigurationError, UsageError
from ostinato.web_pages import SearchHit, SearchQuery, Web

PLACE: Final = "{query}"

LISTS: Final = ("results", "items", "hits", "organic", "organic_results", "webPages", "web", "value", "data")
ADDRESSES: Final = ("url", "link", "href")
TITLES: Final = ("title", "name")
SNIPPETS: Final = ("content", "snippet", "description", "text", "body")
MAX_DEPTH: Final = 4


class SearchService:
    """Implements `SearchWeb`. Raises ConfigurationError for an address without a place for the words."""

    def __init__(self, address: str, web: Web) -> None:
        if PLACE not in address or not address.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"the search service `{address.partition('?')[0]}` cannot be asked",
                hint="write its address with `{query}` in it: `https://searx.example/search?q={query}&format=json`",
            )
        self._address = address
        self._web = web

    async def __call__(self, wanted: SearchQuery) -> Sequence[SearchHit]:
        """Raises UsageError for a service that cannot be reached or understood."""
        answer = await self._web.get(self._address.replace(PLACE, quote(wanted.query, safe="")))
        if answer.status != 200 or answer.moved_to:
            raise UsageError(
                f"the search service answered with status {answer.status}",
                hint="the user can check its address and its key",
            )
        try:
            said: object = msgspec.json.decode(answer.body)
        except msgspec.DecodeError as error:
            raise UsageError(
                "the search service gave no JSON",
                hint="the user can check its address: some want `format=json`",
            ) from error
        return hits_in(said)


def hits_in(said: object) -> tuple[SearchHit, ...]:
    """The hits of the first list in the answer that has any."""
    for found in _lists(said, 0):
        hits = tuple(hit for one in found if (hit := _hit(one)) is not None)
        if hits:
            return hits
    return ()


def _lists(said: object, depth: int) -> Iterator[Sequence[Any]]:
    if isinstance(said, list):
        yield cast("list[Any]", said)
    elif isinstance(said, dict) and depth < MAX_DEPTH:
        named = cast("dict[str, Any]", said)
        for name in LISTS:
            yield from _lists(named.get(name), depth + 1)


def _hit(one: object) -> SearchHit | None:
    if not isinstance(one, Mapping):
        return None
    named = cast("Mapping[str, Any]", one)
    address = _first(named, ADDRESSES)
    if not address.startswith(("http://", "https://")):
        return None
    return SearchHit(address, _first(named, TITLES), _first(named, SNIPPETS))


def _first(named: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((value for name in names if isinstance(value := named.get(name), str) and value), "")

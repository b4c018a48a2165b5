"""The web as a conversation reaches it: proxies, certificates and allowed places from its options; loaded with the first page."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ostinato.engine.options import Options
from ostinato.errors import ConfigurationError
from ostinato.permissions.rules import Rule
from ostinato.ports import ModelFacts
from ostinato.web_pages import SearchHit, SearchQuery, SearchWeb, Web, WebAnswer

if TYPE_CHECKING:
    from ostinato.web.addresses import AllowedPlaces
    from ostinato.web.reader import WebReader

BY_PROVIDER: Final = "provider"
"""Instead of an address: the model's provider searches, inside its replies."""

SEARCH_VARIABLE: Final = "OSTINATO_WEB_SEARCH_URL"
SEARCH_HEADERS_VARIABLE: Final = "OSTINATO_WEB_SEARCH_HEADERS"


class PublicWeb:
    """Implements `Web`. Raises UsageError, when it is made, for a place that cannot be meant."""

    def __init__(self, options: Options, environment: Mapping[str, str]) -> None:
        self._allowed = _places(options.web_private_hosts) if options.web_private_hosts else None
        self._environment = environment
        self._reader: WebReader | None = None

    async def check(self, url: str) -> None:
        await self._opened().check(url)

    async def get(self, url: str) -> WebAnswer:
        return await self._opened().get(url)

    def _opened(self) -> "WebReader":
        if self._reader is None:
            self._reader = _reader(self._allowed or _places(()), self._environment, {})
        return self._reader


class _Service:
    """Implements `SearchWeb` over HTTP. Its own host may be anywhere: whoever set it up named it."""

    def __init__(self, address: str, headers: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._address = address
        self._headers = headers
        self._environment = environment
        self._search: SearchWeb | None = None

    async def __call__(self, query: SearchQuery) -> Sequence[SearchHit]:
        if self._search is None:
            from ostinato.web.search_service import SearchService  # ruff: ignore[import-outside-top-level] - see the module's docstring

            parts = urlsplit(self._address)
            port = "" if parts.port is None else f":{parts.port}"
            host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
            places = _places((f"{host}{port}",))
            reader: Web = _reader(places, self._environment, self._headers)
            self._search = SearchService(self._address, reader)
        return await self._search(query)


def searches_by_provider(
    options: Options, facts: ModelFacts, rules: Sequence[Rule], environment: Mapping[str, str]
) -> bool:
    """Whether it is wanted, can be done for this model, and nobody forbade searching: what happens there passes no gate."""
    is_denied = any(rule.behaviour == "deny" and rule.tool == "WebSearch" for rule in rules)
    is_spoken = facts.provider != "openai" or facts.openai_wire == "responses"
    is_wanted = (options.web_search or environment.get(SEARCH_VARIABLE)) == BY_PROVIDER
    return is_wanted and facts.searches_web and is_spoken and not is_denied


def is_search_address(address: str) -> bool:
    """Whether it can be asked: an address of the web with a place for the words, or the word for the model's provider."""
    return address == BY_PROVIDER or ("{query}" in address and address.startswith(("http://", "https://")))


def search_of(options: Options, environment: Mapping[str, str]) -> SearchWeb | None:
    """What is asked where the provider does not search. Raises ConfigurationError for an address that cannot be asked."""
    wanted = options.web_search
    if wanted is not None and not isinstance(wanted, str):
        return wanted
    address = environment.get(SEARCH_VARIABLE, "") if wanted in {None, "", BY_PROVIDER} else wanted
    if not address or address == BY_PROVIDER:
        return None
    if not is_search_address(address):
        raise ConfigurationError(
            "the address of the search service cannot be used",
            hint=f"`web_search` or `{SEARCH_VARIABLE}` looks like `https://searx.example/search?q={{query}}&format=json`",
        )
    headers = {**_headers(environment.get(SEARCH_HEADERS_VARIABLE, "")), **options.web_search_headers}
    return _Service(address, headers, environment)


def _headers(text: str) -> dict[str, str]:
    """A header a line, as `Name: value`."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, mark, value in pairs if mark and name.strip()}


def _places(entries: Sequence[str]) -> "AllowedPlaces":
    from ostinato.web.addresses import allowed_places  # ruff: ignore[import-outside-top-level] - see the module's docstring

    return allowed_places(entries)


def _reader(
    places: "AllowedPlaces", environment: Mapping[str, str], headers: Mapping[str, str]
) -> "WebReader":
    from ostinato.providers.address import proxy_for  # ruff: ignore[import-outside-top-level] - see the module's docstring
    from ostinato.providers.http_pool import trust_of  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.web.reader import WebReader  # ruff: ignore[import-outside-top-level] - as above

    return WebReader(
        places,
        proxy_for=partial(proxy_for, environment=environment),
        trust=partial(trust_of, environment),
        headers=headers,
    )

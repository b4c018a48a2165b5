"""What settings say of the web: the places that may be read, and the service that is searched.

Promise: headers go to no other address than the one they stand beside, and a fault in a file stops no start.
"""

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from ostinato.config.settings import Settings
from ostinato.config.source import Sourced
from ostinato.engine.options import Options
from ostinato.engine.web_access import SEARCH_HEADERS_VARIABLE, is_search_address
from ostinato.errors import UsageError
from ostinato.web.addresses import allowed_places

GIVEN_LEVELS: Final = ("flags", "environment")
"""An address that was given so comes with headers that were given so."""

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_HEADER: Final = re.compile(r"[!#$%&'*+.^`|~\w-]+", re.ASCII)


def with_web(options: Options, settings: Settings, notices: list[str]) -> Options:
    """`options` with the web of the settings. `options.environment` is the session's."""
    hosts = settings.web_private_hosts
    if hosts is not None:
        options = replace(options, web_private_hosts=_places(hosts, notices))
    url = settings.web_search_url
    if url is None or callable(options.web_search):
        return options
    if url.origin.source.level in GIVEN_LEVELS:
        return replace(options, web_search=url.value)
    if not is_search_address(url.value):
        notices.append(
            f"the address of `{url.origin}` is left out: it is `http://` or `https://`, with `{{query}}` in it"
        )
        return options
    environment = options.environment or {}
    return replace(
        options,
        web_search=url.value,
        web_search_headers=_headers(settings, url, environment, notices),
        # what the variable holds was meant for another address
        environment={name: text for name, text in environment.items() if name != SEARCH_HEADERS_VARIABLE},
    )


def _places(hosts: Sourced[tuple[str, ...]], notices: list[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for entry in hosts.value:
        try:
            allowed_places((entry,))
        except UsageError as error:
            notices.append(f"`{entry}` of `{hosts.origin}` is left out; {error.hint}")
        else:
            kept.append(entry)
    return tuple(kept)


def _headers(
    settings: Settings, url: Sourced[str], environment: Mapping[str, str], notices: list[str]
) -> dict[str, str]:
    """Those of the file that the address is from, with variables put in."""
    headers: dict[str, str] = {}
    for name, header in settings.web_search_headers.items():
        missing = [found for found in _VARIABLE.findall(header.value) if not environment.get(found)]
        text = _VARIABLE.sub(lambda match: environment.get(match[1], ""), header.value).strip()
        fault = ""
        if header.origin.source != url.origin.source:
            fault = f"the address is from `{url.origin.source}`"
        elif missing:
            fault = f"there is no variable `{missing[0]}`"
        elif not (_HEADER.fullmatch(name) and text.isascii() and text.isprintable()):
            fault = "it cannot be a header"
        if fault:
            notices.append(f"the header of `{header.origin}` is left out: {fault}")
        else:
            headers[name] = text
    return headers

"""From a base URL, as people write it, to the address of an endpoint: one rule, so that no version is ever doubled."""

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ostinato.errors import ConfigurationError

VERSION_SEGMENT = re.compile(r"^v\d+[a-z0-9]*$")

ENDPOINTS = ("/chat/completions", "/responses", "/messages")
"""What a base URL may end in when somebody copied a whole address: of another wire, it gives way to the wanted one."""


def endpoint_url(base_url: str, endpoint: str, *, version_is_implied: bool) -> str:
    """`endpoint` (such as `v1/messages`) below `base_url`, keeping its path and query.

    A base that already ends in the endpoint stays, one that ends in another wire's loses that; one that names a
    version gets no second one; a bare host gets the endpoint whole. Otherwise `version_is_implied` decides whether the version still stands between
    (Anthropic's convention) or the base is taken to be complete (OpenAI's). Raises `ConfigurationError` for what is no address.
    """
    parts = _split(base_url.strip())
    path = parts.path.rstrip("/")
    _, _, bare_endpoint = endpoint.partition("/")
    if path.endswith("/" + bare_endpoint):
        return urlunsplit(parts._replace(path=path, fragment=""))
    for other in ENDPOINTS:
        path = path.removesuffix(other)
    segments = [segment for segment in path.split("/") if segment]
    is_versioned = (
        VERSION_SEGMENT.match(segments[-1])
        if version_is_implied and segments
        else any(VERSION_SEGMENT.match(segment) for segment in segments)
    )
    is_complete = is_versioned or (segments and not version_is_implied)
    return urlunsplit(
        parts._replace(path=f"{path}/{bare_endpoint if is_complete else endpoint}", fragment="")
    )


def shown_url(url: str) -> str:
    """The address as it may be written down: a name and password before the host become `…`, and the query, where keys travel too,
    is left out. `url` may lack its scheme, as proxies do.
    """
    address = url.partition("?")[0].partition("#")[0]
    scheme, mark, rest = address.rpartition("://") if "://" in address else ("", "", address)
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{'…@' if '@' in host else ''}{host.rpartition('@')[2]}{slash}{path}"


def _split(base_url: str) -> SplitResult:
    try:
        parts = urlsplit(base_url)
        is_usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        is_usable, parts = False, SplitResult("", "", "", "", "")
    if not is_usable or any(character.isspace() for character in base_url):
        raise ConfigurationError(
            f"`{shown_url(base_url)}` is no usable base URL",
            hint="it looks like `https://api.example.com` or `http://127.0.0.1:8080/v1`",
        )
    return parts


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that `environment` names for `url`: `http_proxy`, `https_proxy`, `all_proxy`, minus `no_proxy`."""
    parts = urlsplit(url)
    proxy = _variable(environment, f"{parts.scheme}_proxy") or _variable(environment, "all_proxy")
    if not proxy or _is_exempt(parts.hostname or "", parts.port, _variable(environment, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def _is_exempt(host: str, port: int | None, no_proxy: str) -> bool:
    patterns = [pattern.strip().lower() for pattern in no_proxy.split(",")]
    return any(pattern and _matches(host, port, pattern) for pattern in patterns)


def _matches(host: str, port: int | None, pattern: str) -> bool:
    """Whether `pattern` of `no_proxy` covers the host: `*`, a name or its parents, an address, a network."""
    if pattern == "*" or _is_in_network(host, pattern):
        return True
    name, _, wanted_port = pattern.rpartition(":") if pattern.count(":") == 1 else (pattern, "", "")
    if wanted_port and wanted_port != str(port):
        return False
    name = name.removeprefix("*").removeprefix(".").strip("[]")
    return host == name or host.endswith("." + name)


def _is_in_network(host: str, pattern: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(pattern, strict=False)
    except ValueError:
        return False

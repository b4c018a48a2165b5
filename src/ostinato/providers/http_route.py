"""The way to a server: straight or through a proxy, and whom to believe on it."""

import ssl
from collections.abc import Mapping

import msgspec

from ostinato.errors import ConfigurationError
from ostinato.providers.address import proxy_for, shown_url
from ostinato.providers.http_target import HttpTarget, target_of
from ostinato.providers.http_trust import trust_of


class Route(msgspec.Struct, frozen=True):
    """The way to a server. `trust` is needed where TLS is spoken, to it or to the proxy."""

    target: HttpTarget
    proxy: HttpTarget | None = None
    trust: ssl.SSLContext | None = None

    @property
    def request_target(self) -> str:
        """The path, or for a proxy that reads along the whole address."""
        if self.proxy is None or self.target.is_tls:
            return self.target.path
        return f"http://{self.target.host_header}{self.target.path}"

    @property
    def headers(self) -> dict[str, str]:
        """What every request on this way says first."""
        headers = {"host": self.target.host_header}
        if self.proxy is not None and not self.target.is_tls:
            headers |= proxy_authorization(self.proxy)
        return headers


def proxy_authorization(proxy: HttpTarget) -> Mapping[str, str]:
    """The header by which a proxy knows its users, if its address names one."""
    return {"proxy-authorization": proxy.authorization} if proxy.authorization else {}


def route_to(url: str, environment: Mapping[str, str]) -> Route:
    """Proxy and trust come from `environment`. Raises ValueError for no address, ConfigurationError for a proxy that is none."""
    target = target_of(url)
    proxy = _proxy(proxy_for(url, environment))
    # Plain http needs no certificates, and reading them costs tens of milliseconds.
    needs_trust = target.is_tls or (proxy is not None and proxy.is_tls)
    return Route(target, proxy, trust_of(environment) if needs_trust else None)


def _proxy(url: str | None) -> HttpTarget | None:
    if url is None:
        return None
    try:
        return target_of(url)
    except ValueError as error:
        raise ConfigurationError(
            f"the proxy `{shown_url(url)}` cannot be used: {error}",
            hint="`HTTP_PROXY` and `HTTPS_PROXY` name one like `http://127.0.0.1:3128`",
        ) from error

"""The connections to one server: straight or through a proxy, and whom to believe on the way."""

import ssl
from collections.abc import Mapping

import httpcore2

from ostinato.errors import ConfigurationError
from ostinato.providers.address import proxy_for, shown_url
from ostinato.providers.http_target import DEFAULT_PORTS, HttpTarget, target_of

KEEPALIVE_S = 60.0
"""How long an idle connection waits for the next turn: tools run in between."""


def new_pool(url: str, environment: Mapping[str, str]) -> httpcore2.AsyncConnectionPool:
    """Proxy and trust come from `environment`. Raises ConfigurationError for a proxy or certificates that cannot be used."""
    proxy_url = proxy_for(url, environment)
    proxy = None if proxy_url is None else _target_of_proxy(proxy_url)
    # Plain http needs no certificates, and reading them costs tens of milliseconds.
    needs_trust = url.startswith("https://") or (proxy is not None and proxy.scheme == "https")
    trust = trust_of(environment) if needs_trust else None
    return httpcore2.AsyncConnectionPool(
        ssl_context=trust,
        proxy=None if proxy is None else _proxy(proxy, trust),
        # The callers bound how much runs at once; a second bound here would only let them wait for one another.
        max_connections=None,
        max_keepalive_connections=100,
        keepalive_expiry=KEEPALIVE_S,
    )


def core_url(target: HttpTarget) -> httpcore2.URL:
    """In the library's form. A proxy is told the address so, and no usual port is ever written."""
    port = None if target.port == DEFAULT_PORTS[target.scheme] else target.port
    return httpcore2.URL(scheme=target.scheme, host=target.host, port=port, target=target.path)


def _target_of_proxy(url: str) -> HttpTarget:
    try:
        return target_of(url)
    except ValueError as error:
        raise ConfigurationError(
            f"the proxy `{shown_url(url)}` cannot be used: {error}",
            hint="`HTTP_PROXY` and `HTTPS_PROXY` name one like `http://127.0.0.1:3128`",
        ) from error


def _proxy(proxy: HttpTarget, trust: ssl.SSLContext | None) -> httpcore2.Proxy:
    headers = [("Proxy-Authorization", proxy.authorization)] if proxy.authorization else []
    return httpcore2.Proxy(
        core_url(proxy), headers=headers, ssl_context=trust if proxy.scheme == "https" else None
    )


def trust_of(environment: Mapping[str, str]) -> ssl.SSLContext:
    """The certificates that the environment names, or the operating system's."""
    file, folder = environment.get("SSL_CERT_FILE"), environment.get("SSL_CERT_DIR")
    if not file and not folder:
        return httpcore2.default_ssl_context()
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as error:
        raise ConfigurationError(
            f"the certificates in `{file or folder}` cannot be read: {error}",
            hint="`SSL_CERT_FILE` names a file of trusted certificates in PEM form",
        ) from error

"""How an exchange fails, and what is said of it: which address, what happened, what to look at."""

import ssl

import anyio

from ostinato.errors import ModelError
from ostinato.providers.http_head import BadReply


class ConnectTimeout(TimeoutError):
    """Nobody answered, or the greeting took too long."""


class WriteTimeout(TimeoutError):
    """The server did not take the request in time."""


class ProxyRefused(Exception):
    """The proxy answered, and did not connect."""


NETWORK_FAULTS = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, BadReply, ProxyRefused)


def sending_error(error: Exception, url: str) -> ModelError:
    """No answer came: which address (`shown_url`), and what to look at."""
    if _is_certificate_error(error):
        return ModelError(
            f"the certificate of `{url}` is not trusted: {error}",
            kind="connection",
            hint="set `SSL_CERT_FILE` to a file with the certificate authority of your network or proxy",
        )
    if isinstance(error, ConnectTimeout | WriteTimeout):
        return ModelError(
            f"cannot reach `{url}` in time ({type(error).__name__})",
            kind="connection" if isinstance(error, ConnectTimeout) else "timeout",
            retry=True,
            hint="check the base URL, the network and the proxy settings; the limits are `OSTINATO_CONNECT_TIMEOUT_S` and "
            "`OSTINATO_WRITE_TIMEOUT_S`",
        )
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return ModelError(
            f"the request to `{url}` cannot be made: {error}",
            kind="connection",
            hint="check the base URL, the proxy, the key and the extra headers for characters that do not belong there",
        )
    return ModelError(
        f"cannot reach `{url}`: {str(error) or type(error).__name__}",
        kind="connection",
        retry=True,
        hint="check the base URL, the network and the proxy settings",
    )


def reading_error(error: Exception, url: str) -> ModelError:
    """The answer broke off."""
    return ModelError(
        f"the connection to `{url}` broke in the middle of the reply: {str(error) or type(error).__name__}",
        kind="stream_cut",
        retry=True,
        hint="if it keeps happening, look for a proxy between that closes long replies",
    )


def _is_certificate_error(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return True
        seen = seen.__cause__ or seen.__context__
    return "CERTIFICATE_VERIFY_FAILED" in str(error)

"""Whom a connection believes: the certificates that the environment names, or those of the operating system."""

import os
import ssl
import sys
from collections.abc import Mapping
from typing import Final

from ostinato.errors import ConfigurationError

CERTIFICATE_FILES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
)
"""Where distributions keep them, for a Python whose OpenSSL was built for another place."""


def trust_of(environment: Mapping[str, str]) -> ssl.SSLContext:
    """Certificates are always checked. Only `environment` is asked for `SSL_CERT_FILE` and `SSL_CERT_DIR`. Raises
    ConfigurationError for certificates that cannot be read."""
    file, folder = environment.get("SSL_CERT_FILE"), environment.get("SSL_CERT_DIR")
    if not file and not folder:
        context = _system_trust()
    else:
        try:
            context = ssl.create_default_context(cafile=file or None, capath=folder or None)
        except OSError as error:
            raise ConfigurationError(
                f"the certificates in `{file or folder}` cannot be read: {error}",
                hint="`SSL_CERT_FILE` names a file of trusted certificates in PEM form",
            ) from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def _system_trust() -> ssl.SSLContext:
    if sys.platform in {"darwin", "win32"}:
        import truststore  # ruff: ignore[import-outside-top-level] - only these keep certificates where OpenSSL does not look

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The places that were compiled in: what the process's own environment says was decided by whoever gave us ours.
    paths = ssl.get_default_verify_paths()
    file = next(filter(os.path.isfile, (paths.openssl_cafile, *CERTIFICATE_FILES)), None)
    folder = paths.openssl_capath if os.path.isdir(paths.openssl_capath) else None
    if file or folder:
        context.load_verify_locations(file, folder)
    return context

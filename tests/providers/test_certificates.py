"""Certificates: an unknown one is refused with the way out, a named one is believed."""

import ssl
from pathlib import Path

import pytest
from tests.providers import anthropic_stream
from tests.providers.requests import blocks_of, facts, failure_of, read_all, request
from tests.providers.wire_server import Answer, wire_server

from ostinato.messages import Text
from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.exchange import HttpSettings

PEM = """-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5XLJPqzRUakqk1d1
qxfsQlxPqNvhT6PO+18Aunjxqn+hRANCAAQf/qqPwbzsZqRrwdtyMgMXgeQdJUeD
8+h/mLL0pFC6KgtvNAQAPRfeB3l1sjqwi/eoVzK1Ang1fx2Rntuapshq
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUGrwTzO0SN/OWmA0zMz8Acxr9Y/swCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDEzMDI1MFoYDzIxMjYxMTA2
MTMwMjUwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQf/qqPwbzsZqRrwdtyMgMXgeQdJUeD8+h/mLL0pFC6KgtvNAQAPRfe
B3l1sjqwi/eoVzK1Ang1fx2Rntuapshqo28wbTAdBgNVHQ4EFgQUDmvNI9wCiczH
tgI1FYwPmPeykhowHwYDVR0jBBgwFoAUDmvNI9wCiczHtgI1FYwPmPeykhowDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhALoFc5xZXy5/9Jpem0OD7meBk/RLJ2JhiEydPzb+yAf7AiBP
Ac48Bk7wRoXy0J5sKO1WvZjEZ5C+BgK+EpPAceg9Iw==
-----END CERTIFICATE-----
"""
"""A throw-away pair for the loopback, good until 2126; it protects nothing."""


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    path.write_text(PEM)
    return path


def server_side(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_an_unknown_certificate_is_refused_once_with_the_way_out(certificate: Path):
    with wire_server(Answer([anthropic_stream.SIMPLE]), tls=server_side(certificate)) as server:
        model = AnthropicModel(facts("anthropic"), base_url=server.url)
        error = await failure_of(model, request())
        await model.aclose()
    assert (error.kind, error.retry) == ("connection", False)
    assert "SSL_CERT_FILE" in error.hint
    assert server.received == []


async def test_a_certificate_that_the_environment_names_is_believed(certificate: Path):
    settings = HttpSettings({"SSL_CERT_FILE": str(certificate)})
    with wire_server(Answer([anthropic_stream.SIMPLE]), tls=server_side(certificate)) as server:
        model = AnthropicModel(facts("anthropic"), base_url=server.url, settings=settings)
        assert blocks_of(await read_all(model, request())) == [Text("hi")]
        await model.aclose()

"""The way of a request to its server: addresses with names in them, proxies, packed replies; whatever the environment asks for."""

import gzip
import socket
import threading
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.providers import anthropic_stream
from tests.providers.requests import blocks_of, facts, failure_of, read_all, request
from tests.providers.test_certificates import PEM, server_side
from tests.providers.wire_server import Answer, wire_server

from ostinato.errors import ConfigurationError
from ostinato.messages import Text
from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.http_target import HttpTarget, target_of

BASIC = "Basic bWU6aXRz"  # me:its


def model_at(url: str, **environment: str) -> AnthropicModel:
    return AnthropicModel(facts("anthropic"), base_url=url, settings=HttpSettings(environment))


async def says_hi(model: AnthropicModel) -> bool:
    try:
        return blocks_of(await read_all(model, request())) == [Text("hi")]
    finally:
        await model.aclose()


class Tunnel:
    """A proxy that connects, and says what it was told; `refusal` is what it answers instead."""

    def __init__(self, refusal: bytes = b"") -> None:
        self.heads: list[str] = []
        self._refusal = refusal
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                inner, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(inner,), daemon=True).start()

    def _connect(self, inner: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += inner.recv(1)
        self.heads.append(head.decode())
        if self._refusal:
            inner.sendall(self._refusal)
            inner.close()
            return
        host, _, port = head.split(b" ")[1].decode().partition(":")
        outer = socket.create_connection((host, int(port)))
        inner.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        for source, sink in ((inner, outer), (outer, inner)):
            threading.Thread(target=_pump, args=(source, sink), daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError), source:
        while data := source.recv(65_536):
            sink.sendall(data)


@contextmanager
def tunnel(refusal: bytes = b"") -> Generator[Tunnel]:
    proxy = Tunnel(refusal)
    threading.Thread(target=proxy.serve, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.close()


async def test_a_tunnel_leads_through_a_proxy_that_knows_its_users_and_never_sees_the_request(tmp_path: Path):
    certificate = tmp_path / "ca.pem"
    certificate.write_text(PEM)
    answers = [Answer([anthropic_stream.SIMPLE])] * 2
    with tunnel() as proxy, wire_server(*answers, tls=server_side(certificate)) as server:
        model = model_at(
            server.url, HTTPS_PROXY=f"http://me:its@{proxy.address}", SSL_CERT_FILE=str(certificate)
        )
        await read_all(model, request())
        assert await says_hi(model)
        (head,) = proxy.heads  # the second request uses the same tunnel
        assert head.startswith(f"CONNECT {server.url.removeprefix('https://')} HTTP/1.1\r\n")
    assert BASIC in head
    assert "proxy-authorization" not in server.received[0].headers


async def test_a_proxy_that_refuses_is_told_with_its_status():
    with tunnel(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n") as proxy:
        model = model_at("https://model.invalid", HTTPS_PROXY=proxy.address)
        error = await failure_of(model, request())
        await model.aclose()
    assert (error.kind, error.retry) == ("connection", True)
    assert "407" in error.message


async def test_a_plain_proxy_is_told_who_asks():
    with wire_server(Answer([anthropic_stream.SIMPLE])) as proxy:
        address = proxy.url.removeprefix("http://")
        assert await says_hi(model_at("http://model.invalid", http_proxy=f"http://me:its@{address}"))
    assert proxy.received[0].headers["proxy-authorization"] == BASIC
    assert proxy.received[0].headers["host"] == "model.invalid"


async def test_a_proxy_that_speaks_something_else_is_refused_before_anything_is_sent():
    model = model_at("http://model.invalid", ALL_PROXY="socks5://127.0.0.1:1")
    with pytest.raises(ConfigurationError) as refused:
        await read_all(model, request())
    assert "socks5" in refused.value.message


async def test_a_name_and_password_in_the_address_are_sent_as_such():
    with wire_server(Answer([anthropic_stream.SIMPLE])) as server:
        assert await says_hi(model_at(server.url.replace("http://", "http://me:its@")))
    assert server.received[0].headers["authorization"] == BASIC
    assert "me" not in server.received[0].headers["host"]


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("GZip", gzip.compress)]
)
async def test_a_reply_that_was_packed_unasked_is_read_all_the_same(encoding: str, pack: object):
    assert callable(pack)
    packed: object = pack(anthropic_stream.SIMPLE)
    assert isinstance(packed, bytes)
    headers = {"Content-Type": "text/event-stream", "Content-Encoding": encoding}
    pieces = [packed[:10], packed[10:20], packed[20:]]
    with wire_server(Answer(pieces, headers=headers)) as server:
        assert await says_hi(model_at(server.url))


async def test_what_cannot_be_unpacked_is_a_broken_reply():
    headers = {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"}
    with wire_server(Answer([anthropic_stream.SIMPLE], headers=headers)) as server:
        model = model_at(server.url)
        assert (await failure_of(model, request())).kind == "stream_cut"
        await model.aclose()


@pytest.mark.parametrize(
    ("url", "target", "host"),
    [
        ("https://a.example", HttpTarget("https", "a.example", 443, "/"), "a.example"),
        ("http://a.example:8080/v1?k=a b", HttpTarget("http", "a.example", 8080, "/v1?k=a%20b"), "a.example:8080"),
        ("http://[::1]:9/ü%20", HttpTarget("http", "::1", 9, "/%C3%BC%20"), "[::1]:9"),
        ("https://bücher.example/", HttpTarget("https", "xn--bcher-kva.example", 443, "/"), "xn--bcher-kva.example"),
    ],
)  # fmt: skip
def test_an_address_is_taken_apart_into_what_can_travel(url: str, target: HttpTarget, host: str):
    assert (target_of(url), target_of(url).host_header) == (target, host)


def test_a_name_in_an_address_may_hold_any_character():
    assert target_of("http://me%40home:i%3Ats@host").authorization == "Basic bWVAaG9tZTppOnRz"

"""One page is read to its end or its limit, wherever it leads; each hop is checked where it really goes."""

import gzip
import random
import ssl
import tracemalloc
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.providers.test_certificates import PEM, server_side
from tests.web.page_server import PageServer, answer, endless, moved

from ostinato.errors import UsageError
from ostinato.web.addresses import AllowedPlaces, allowed_places
from ostinato.web.pinned_network import RefusedAddress
from ostinato.web.reader import MAX_REDIRECTS, ReadLimits, WebReader
from ostinato.web.web_address import over_tls, web_address

SMALL = ReadLimits(total_s=20.0, max_body_bytes=100_000)


def near(server: PageServer, **more: Any) -> WebReader:
    """A reader that may read this server."""
    more.setdefault("limits", SMALL)
    return WebReader(allowed_places([f"127.0.0.1:{server.port}"]), **more)


async def refused(reader: WebReader, url: str) -> UsageError:
    with pytest.raises(UsageError) as told:
        await reader.get(url)
    return told.value


async def test_a_page_comes_as_it_was_sent_and_nobody_is_told_more_than_needed():
    with PageServer({"/a%20b?q=1": [answer(200, b"hello", content_type="text/plain")]}) as server:
        got = await near(server).get(f"{server.url}/a b?q=1")
    assert (got.status, got.content_type, got.body, got.is_cut) == (200, "text/plain", b"hello", False)
    head = server.requests[0].lower()
    assert f"host: 127.0.0.1:{server.port}" in head
    assert "cookie" not in head
    assert "authorization" not in head


# ------------------------------------------------------------------------------------------------ where it leads


async def test_what_is_not_public_is_refused_before_anything_is_sent():
    with PageServer({"/": [answer(200)]}) as server:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "127.1"):
            assert isinstance(await refused(WebReader(), f"http://{host}:{server.port}/"), RefusedAddress)
        assert server.connections == 0


async def test_metadata_is_not_read():
    for url in (
        "http://169.254.169.254/latest/meta-data",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
    ):
        assert isinstance(await refused(WebReader(), url), RefusedAddress)


async def test_a_public_page_that_leads_to_an_internal_one_leads_nowhere():
    inside = PageServer({"/": [answer(200, b"secret")]})
    with inside, PageServer({"/": [moved(f"{inside.url}/")]}) as server:
        got = await near(server).get(f"{server.url}/")
        assert (got.moved_to, got.body) == (f"{inside.url}/", b"")
        assert isinstance(await refused(near(server), got.moved_to), RefusedAddress)
    assert inside.connections == 0


class Rebinding:
    """A host whose address is another one at each look-up."""

    def __init__(self, *addresses: str) -> None:
        self._left = list(addresses)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return [self._left.pop(0)]


def only_one_is_public(address: str) -> str | None:
    """127.0.0.1 stands for a public address here."""
    return None if address == "127.0.0.1" else "a private one"


async def test_each_hop_is_looked_up_and_judged_again():
    rebinding = Rebinding("127.0.0.1", "127.0.0.2")
    with PageServer({"/": [moved("/next")], "/next": [answer(200, b"secret")]}) as server:
        reader = WebReader(resolve=rebinding, problem_of=only_one_is_public, limits=SMALL)
        error = await refused(reader, f"http://site.test:{server.port}/")
    assert isinstance(error, RefusedAddress)
    assert (rebinding.asked, len(server.requests)) == (2, 1)


async def test_the_connection_goes_to_the_address_that_was_judged():
    rebinding = Rebinding("127.0.0.1", "10.0.0.1")
    with PageServer({"/": [answer(200, b"hello")]}) as server:
        reader = WebReader(resolve=rebinding, problem_of=only_one_is_public, limits=SMALL)
        got = await reader.get(f"http://site.test:{server.port}/")
    assert (got.body, rebinding.asked) == (b"hello", 1)
    assert f"host: site.test:{server.port}" in server.requests[0].lower()


async def test_one_bad_address_among_good_ones_is_enough():
    async def both(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1", "10.0.0.1"]

    reader = WebReader(resolve=both, problem_of=only_one_is_public)
    assert isinstance(await refused(reader, "http://site.test:1/"), RefusedAddress)


async def test_redirects_inside_a_site_are_followed_and_a_circle_ends():
    pages = {
        "/": [moved("/b", 301)],
        "/b": [moved("c", 307)],
        "/c": [answer(200, b"there")],
        "/loop": [moved("/loop")],
    }
    with PageServer(pages) as server:
        got = await near(server).get(f"{server.url}/")
        assert (got.url, got.body) == (f"{server.url}/c", b"there")
        before = len(server.requests)
        assert "redirects" in (await refused(near(server), f"{server.url}/loop")).message
        assert len(server.requests) - before == MAX_REDIRECTS + 1


async def test_a_redirect_in_bare_letters_leads_where_it_means():
    with PageServer({"/": [moved("/\xc3\xbcber")], "/%C3%BCber": [answer(200, b"there")]}) as server:
        assert (await near(server).get(f"{server.url}/")).body == b"there"


async def test_a_redirect_to_another_scheme_or_with_a_password_is_refused():
    with PageServer({
        "/f": [moved("file:///etc/passwd")],
        "/p": [moved("http://me:pw@127.0.0.1/")],
        "/n": [moved("http://[")],
    }) as server:
        for path in ("/f", "/p", "/n"):
            await refused(near(server), server.url + path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http://a b/",
        "http://u:p@example.org/",
        "http://example.org:99999/",
        "https://" + "a" * 5_000,
        "javascript:alert(1)",
        "http://[::1",
        "gopher://x/",
    ],
)
async def test_what_is_no_address_of_a_page_is_refused(url: str):
    await refused(WebReader(), url)


def test_what_is_public_is_read_over_tls_and_a_port_is_left_alone():
    assert str(over_tls(web_address("http://Example.org/a?b=c"))) == "https://example.org/a?b=c"
    assert str(over_tls(web_address("http://example.org:8080/"))) == "http://example.org:8080/"
    assert str(web_address("https://bücher.example/ü?ä")) == "https://xn--bcher-kva.example/%C3%BC?%C3%A4"


async def test_a_server_that_cannot_prove_its_name_is_not_read(tmp_path: Path):
    certificate = tmp_path / "pair.pem"
    certificate.write_text(PEM)
    with PageServer({"/": [answer(200, b"over TLS")]}, tls=server_side(certificate)) as server:
        url, knows_nobody = f"https://127.0.0.1:{server.port}/", ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        error = await refused(near(server, trust=lambda: knows_nobody), url)
        assert "cannot be read" in error.message
        assert server.requests == []
        knows_it = ssl.create_default_context(cafile=certificate)
        assert (await near(server, trust=lambda: knows_it).get(url)).body == b"over TLS"


async def test_where_nobody_answers_the_error_says_so():
    with PageServer({}) as server:
        url, reader = f"{server.url}/", near(server)
    assert "cannot be read" in (await refused(reader, url)).message
    assert "no host" in (await refused(WebReader(), "https://name.invalid/")).message


# ------------------------------------------------------------------------------------------------ how much, how long

CHUNKED = answer(200, content_type="text/plain", content_length="", transfer_encoding="chunked")
GZIPPED = answer(
    200, content_type="text/plain", content_length="", transfer_encoding="chunked", content_encoding="gzip"
)


async def test_an_endless_body_ends_at_the_limit():
    with PageServer({"/": endless(CHUNKED, b"x" * 50_000)}) as server:
        got = await near(server).get(f"{server.url}/")
    assert (len(got.body), got.is_cut) == (100_000, True)


async def test_a_bomb_ends_at_the_limit_unpacked_and_is_never_held():
    bomb = gzip.compress(b"\0" * 60_000_000, 1)
    assert len(bomb) < 600_000
    with PageServer({"/": [answer(200, bomb, content_encoding="gzip")]}) as server:
        tracemalloc.start()
        got = await near(server).get(f"{server.url}/")
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (len(got.body), got.is_cut) == (100_000, True)
    assert peak_bytes < 10_000_000


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_what_is_packed_is_unpacked(name: str, pack: Any):
    with PageServer({"/": [answer(200, pack(b"hello" * 100), content_encoding=name)]}) as server:
        assert (await near(server).get(f"{server.url}/")).body == b"hello" * 100


@pytest.mark.parametrize(("name", "body"), [("gzip", b"no gzip"), ("br", b"x"), ("gzip, br", b"x")])
async def test_what_cannot_be_unpacked_is_an_error(name: str, body: bytes):
    with PageServer({"/": [answer(200, body, content_encoding=name)]}) as server:
        await refused(near(server), f"{server.url}/")


async def test_a_body_that_comes_too_slowly_ends_with_the_time():
    def trickle() -> Iterator[bytes]:
        import threading

        yield CHUNKED
        wait = threading.Event()
        while True:
            wait.wait(0.02)
            yield b"1\r\nx\r\n"

    with PageServer({"/": trickle}) as server:
        reader = near(server, limits=ReadLimits(total_s=0.3))
        assert "within 0.3 s" in (await refused(reader, f"{server.url}/")).message


async def test_a_body_that_breaks_off_is_an_error():
    with PageServer({"/": [answer(200, b"half", content_length="100")]}) as server:
        await refused(near(server), f"{server.url}/")


async def test_a_packed_body_that_breaks_off_is_said_to_be_a_beginning():
    half = gzip.compress(random.Random(0).randbytes(2000).hex().encode())[:1000]
    with PageServer({"/": [answer(200, half, content_encoding="gzip")]}) as server:
        got = await near(server).get(f"{server.url}/")
    assert got.is_cut
    assert got.body


# ------------------------------------------------------------------------------------------------ remembered, proxied


async def test_a_page_is_asked_for_once_in_a_quarter_of_an_hour():
    now = [0.0]
    with PageServer({"/": [answer(200, b"a")], "/bad": [answer(500, b"a")]}) as server:
        reader = near(server, monotonic_s=lambda: now[0])
        for at_s, wanted in ((0.0, 1), (899.0, 1), (901.0, 2)):
            now[0] = at_s
            await reader.get(f"{server.url}/")
            assert len(server.requests) == wanted
        for _ in range(2):
            assert (await reader.get(f"{server.url}/bad")).status == 500
        assert len(server.requests) == 4


async def test_through_a_proxy_what_is_known_to_be_private_is_refused_all_the_same():
    with PageServer({"http://name.invalid:81/": [answer(200, b"by proxy")]}) as proxy:
        reader = WebReader(AllowedPlaces(), proxy_for=lambda _url: proxy.url, limits=SMALL)
        assert isinstance(await refused(reader, "http://127.0.0.1:80/"), RefusedAddress)
        assert isinstance(await refused(reader, "http://169.254.169.254:80/"), RefusedAddress)
        assert (await reader.get("http://name.invalid:81/")).body == b"by proxy"
    assert len(proxy.requests) == 1

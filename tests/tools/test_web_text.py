"""A page is text in its own encoding, HTML is Markdown, and what is neither is refused by kind; nothing makes it slow or empty."""

import time

import pytest

from ostinato.tools.web_text import PageText, known_encoding, page_text
from ostinato.web_pages import WebAnswer

HTML = "<html><head><title>T</title><style>p{}</style></head><body><h1>Ü</h1><p>a <a href='/x'>b</a></p></body></html>"


def read(body: bytes, content_type: str = "", *, is_cut: bool = False) -> PageText:
    return page_text(WebAnswer("https://a.example/d/", 200, content_type, body, is_cut))


def text(body: bytes, content_type: str = "") -> str:
    page = read(body, content_type)
    assert not page.kind
    return page.text


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("日本語".encode("euc_jp"), "text/plain; charset=euc-jp"),
        ("日本語".encode("cp932"), 'text/plain; charset="Shift_JIS"'),
        ("日本語".encode("utf-16"), "text/plain"),
        (b"\xef\xbb\xbf" + "日本語".encode(), "text/plain"),
        ("日本語".encode(), ""),
        ("日本語".encode(), "text/plain; charset=no-such-thing"),
        ("日本語".encode(), "text/plain; charset=unicode_escape"),
        ("日本語".encode("gb18030"), "text/plain; charset=gb2312"),
    ],
)
def test_the_encoding_is_found(body: bytes, content_type: str):
    assert text(body, content_type) == "日本語"


def test_html_says_its_encoding_itself():
    assert "日本" in text(b"<html><meta charset=euc-jp><p>" + "日本".encode("euc_jp"), "text/html")
    assert "日本" in text(b"<html><meta charset=utf-16><p>" + "日本".encode(), "text/html")
    assert text("naïve".encode("cp1252"), "text/plain") == "naïve"
    assert text("curly “quotes”".encode("cp1252"), "text/plain; charset=iso-8859-1") == "curly “quotes”"


@pytest.mark.parametrize(
    "name", ["hex", "zlib", "rot13", "punycode", "idna", "unicode_escape", "undefined", "utf-7", "mbcs"]
)
def test_what_is_no_encoding_of_pages_is_not_used(name: str):
    assert known_encoding(name) is None


def test_a_character_that_was_cut_at_the_end_is_no_other_encoding():
    assert text("日本".encode()[:-1], "text/plain") == "日\ufffd"


@pytest.mark.parametrize(
    "content_type",
    ["text/html", "text/html; charset=utf-8", "application/xhtml+xml", "", "application/octet-stream"],
)
def test_html_is_markdown_with_whole_links(content_type: str):
    found = text(b"<!doctype html>" + HTML.encode(), content_type)
    assert "# Ü" in found
    assert "[b](https://a.example/x)" in found
    assert "p{}" not in found


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/ld+json", "text/x-python", "text/markdown", "", "application/xml"],
)
def test_other_text_stays_as_it_is(content_type: str):
    assert text(b'{"a": "<b>"}', content_type) == '{"a": "<b>"}'


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"%PDF-1.7", "application/pdf"),
        (b"text", "image/png"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", ""),
        (b"PK\x03\x04\x00\x00", "application/octet-stream"),
        (bytes(range(1, 256)) * 20, ""),
        (b"text", "video/mp4"),
    ],
)
def test_what_is_no_text_is_refused_by_kind(body: bytes, content_type: str):
    assert read(body, content_type).kind
    assert read(body, content_type).text == ""


def test_hidden_text_and_data_in_images_do_not_reach_the_model():
    page = "<body><p hidden>one</p><p style='display:none'>two</p><!-- three --><img alt=pic src='data:image/png;base64,QUJD'>four"
    found = text(page.encode(), "text/html")
    assert "four" in found
    assert all(word not in found for word in ("one", "two", "three", "QUJD"))


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 100_000 + "kept",
        "<blockquote>" * 20_000 + "kept",
        "<table><tr><td>" * 3_000 + "kept",
        "<p " + " ".join(f"a{number}=1" for number in range(300_000)) + ">kept",
        "<p>" + "word " * 800_000 + "kept",
        "<" * 1_000_000 + "<p>kept",
        "<script>" + "x" * 100_000 + "</script><b>" * 10_000 + "kept",
        "<img src='data:image/png;base64," + "A" * 2_000_000 + "'>kept",
        "\0\ud800<p>kept",
    ],
    ids=["deep", "quotes", "tables", "one long tag", "one line", "open", "bold", "data", "half a character"],
)
def test_no_page_is_slow_or_loses_its_words(page: str):
    started_s = time.process_time()
    found = text(page.encode("utf-8", "surrogatepass"), "text/html; charset=utf-8")
    assert "kept" in found
    assert time.process_time() - started_s < 10


def test_a_page_that_was_cut_says_so():
    page = read(b"text", "text/plain", is_cut=True)
    assert page.is_cut

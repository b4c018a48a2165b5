"""The bytes of a page as text: what kind it is, which encoding it has, and HTML as Markdown. What is no text is refused by kind."""

import codecs
import re
from typing import Final

import msgspec

from ostinato.web_pages import WebAnswer

HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES: Final = re.compile(
    r"text/.*|application/(?:.*[+.-])?(?:json|xml|yaml|javascript|ecmascript|toml|sql|graphql|rtf|x-sh|x-python|ndjson)|message/.*"
)
UNSAID_TYPES: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "unknown/unknown"})

ENCODINGS: Final = frozenset(
    [
        "ascii",
        "utf-8",
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "big5",
        "big5hkscs",
        "cp866",
        "cp874",
        "cp932",
        "cp949",
        "euc_jp",
        "euc_kr",
        "gb18030",
        "gb2312",
        "gbk",
        "iso2022_jp",
        "koi8-r",
        "koi8-u",
        "mac-roman",
        "mac-cyrillic",
        "shift_jis",
    ]
    + [f"cp125{number}" for number in range(9)]
    + [f"iso8859-{number}" for number in range(1, 17)]
)
"""Those of the web, under the names that Python has for them; others that Python knows are no encodings of pages."""

MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAID_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
META_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
META_BYTES: Final = 4_096
LOOKS_LIKE_HTML: Final = re.compile(
    rb"\s*(?:<!--.{0,1000}?-->\s*)?<(?:!doctype html|html|head|body)[\s>]", re.IGNORECASE | re.DOTALL
)

MAX_HTML_CHARACTERS: Final = 5_000_000
MAX_TAG_CHARACTERS: Final = 10_000
"""A tag longer than this holds data, or is there to keep a converter busy."""

LONG_TAG: Final = re.compile(rf"<[^<>]{{{MAX_TAG_CHARACTERS},}}>?")
NOT_SHOWN: Final = re.compile(
    r"<(script|style|template|noscript)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL
)
TAG: Final = re.compile(r"<[^<>]*>")


class PageText(msgspec.Struct, frozen=True):
    """`is_cut`: there was more of the page than what was read of it. `kind` says what it is where it is no text at all."""

    text: str = ""
    is_cut: bool = False
    kind: str = ""


def page_text(answer: WebAnswer) -> PageText:
    """The page as the model reads it. Takes time with large pages: not for the event loop."""
    kind = answer.content_type.partition(";")[0].strip().lower()
    looks_like_html = LOOKS_LIKE_HTML.match(answer.body[:META_BYTES]) is not None
    is_html = kind in HTML_TYPES or (kind in UNSAID_TYPES and looks_like_html)
    if not is_html and kind not in UNSAID_TYPES and not TEXT_TYPES.fullmatch(kind):
        return PageText(kind=kind)
    text = decoded(answer.body, answer.content_type, is_html=is_html)
    if text is None:
        return PageText(kind=kind or "bytes of no text")
    if not is_html:
        return PageText(text, answer.is_cut)
    is_cut = answer.is_cut or len(text) > MAX_HTML_CHARACTERS
    return PageText(markdown_of(text[:MAX_HTML_CHARACTERS], answer.url), is_cut)


def decoded(body: bytes, content_type: str, *, is_html: bool) -> str | None:
    """By mark, header, `<meta>`, or as UTF-8 if it is that, else as the web's Latin; None for what is no text at all."""
    for mark, name in MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    said = SAID_CHARSET.search(content_type)
    name = known_encoding(said[1]) if said else None
    if name is None and is_html:
        meta = META_CHARSET.search(body[:META_BYTES])
        name = known_encoding(meta[1].decode("ascii", "replace")) if meta else None
        name = (
            "utf-8" if name is not None and name.startswith("utf-16") else name
        )  # a mark of ASCII bytes disproves itself
    if name is not None:
        return body.decode(name, "replace")
    if b"\0" in body[: 64 * 1024]:
        return None
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        # A character that was cut at the end proves nothing.
        name = "utf-8" if error.reason == "unexpected end of data" else "cp1252"
        text = body.decode(name, "replace")
    controls = sum(letter < " " and letter not in "\t\n\r\f\x1b" for letter in text[: 64 * 1024])
    return None if controls > len(text[: 64 * 1024]) // 50 else text


def known_encoding(name: str) -> str | None:
    """Python's name for it, if pages are written in it."""
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return None
    if found in {"ascii", "iso8859-1"}:
        return "cp1252"  # as every browser reads these
    if found == "gb2312":
        return "gb18030"
    if found == "shift_jis":
        return "cp932"
    return found if found in ENCODINGS else None


def markdown_of(html: str, url: str) -> str:
    """What a reader of the page sees, links made whole."""
    from html_to_markdown import ConversionOptions, InlineDataMedia, convert  # ruff: ignore[import-outside-top-level] - only pages need it

    html = LONG_TAG.sub("", html.encode("utf-8", "replace").decode())
    options = ConversionOptions(
        extract_metadata=False, inline_data_media=InlineDataMedia.ALT_TEXT_ONLY, base_url=url
    )
    text = (convert(html, options).content or "").strip()
    if any(letter.isalnum() for letter in text):
        return text
    # Nested deeper than the converter goes, a page would be empty: its bare words are better than nothing.
    return re.sub(r"\s+", " ", TAG.sub(" ", NOT_SHOWN.sub(" ", html))).strip()

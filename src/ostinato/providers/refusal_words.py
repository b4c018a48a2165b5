"""What a refusal says, out of any of the shapes that are about: nested or flat, an object or a string, a page or nothing."""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

MAX_QUOTED_CHARACTERS = 500


class Said(msgspec.Struct, frozen=True):
    """A refusal in the provider's own words. `param` is the request's field that it names; `is_page`: a web page came."""

    text: str
    code: str = ""
    request_id: str = ""
    param: str = ""
    is_page: bool = False


def said_in(body: bytes, headers: Mapping[str, str]) -> Said:
    """Never raises; what cannot be read is empty."""
    header_id = headers.get("request-id") or headers.get("x-request-id") or ""
    try:
        decoded: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _page(body, header_id)
    if isinstance(decoded, list):  # some wrap the refusal in a list of one
        decoded = next(iter(cast("list[object]", decoded)), None)
    fields = _fields(decoded)
    inner = fields.get("error", fields)
    if isinstance(inner, str):
        return Said(_shortened(inner), _first_text(fields, ("code",)), header_id)
    details = _fields(inner) or fields
    text = _first_text(details, ("message", "detail", "msg")) or _first_text(
        fields, ("message", "detail", "msg")
    )
    if isinstance(decoded, str):
        text = decoded
    kind, code = _first_text(details, ("type", "status")), _first_text(details, ("code",))
    return Said(
        _shortened(text or (body.decode("utf-8", "replace") if fields else "")),
        code if code and not code.isdigit() else kind,
        _first_text(fields, ("request_id",)) or header_id,
        _first_text(details, ("param",)),
    )


def _fields(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _first_text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of these fields that is there, as text; numbers are codes too, lists hold details."""
    for name in names:
        value: object = fields.get(name)
        if value is not None and value != "":
            return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return ""


def _page(body: bytes, request_id: str) -> Said:
    """The title of a web page, or plain text as it is."""
    text = body.decode("utf-8", "replace").strip()
    if not text.startswith("<"):
        return Said(_shortened(text), request_id=request_id)
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    named = f"a web page titled `{_shortened(title[1])}`" if title else "a web page"
    return Said(named, request_id=request_id, is_page=True)


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_QUOTED_CHARACTERS else flat[:MAX_QUOTED_CHARACTERS] + "…"

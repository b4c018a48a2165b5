"""One message, one line of JSON: UTF-8, never a mebibyte long, legal whatever text is in it."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeGuard

import msgspec

JsonObject = dict[str, object]

MAX_LINE_BYTES: Final = 1_000_000
"""Readers of this protocol give up at a line of 1 MiB (protocol reference §1.1)."""

_FIRST_CUT_CHARACTERS: Final = 200_000
_LEAST_CUT_CHARACTERS: Final = 100
_CHARACTERS_AN_ITEM: Final = 10
"""A list may have a tenth as many items as a text may have characters."""

_SMALL_FIELD_BYTES: Final = 10_000

_EIGHT_BIT_CONTROL: Final = re.compile(rb"\xc2[\x80-\x9f]")
"""U+0080 to U+009F in UTF-8; C2 is never part of another character."""
_MEDIA: Final = frozenset({"image", "document"})


def json_line(message: JsonObject) -> bytes:
    """The message and a line end. Where a line would be too long, texts and lists in it are cut with a mark, and as a last
    resort whole fields are left out."""
    line = _encoded(message)
    limit = _FIRST_CUT_CHARACTERS
    while len(line) >= MAX_LINE_BYTES and limit >= _LEAST_CUT_CHARACTERS:
        line = msgspec.json.encode(_rewritten(message, limit))
        limit //= 4
    if len(line) >= MAX_LINE_BYTES:
        line = msgspec.json.encode({name: value for name, value in message.items() if _is_small(value)})
    return _harmless(line) + b"\n"


def json_document(message: JsonObject) -> bytes:
    """The message whole, however long, and a line end."""
    return _harmless(_encoded(message)) + b"\n"


def _harmless(line: bytes) -> bytes:
    """The same JSON with the eight-bit control characters escaped as well: a terminal would obey them."""
    return _EIGHT_BIT_CONTROL.sub(lambda found: b"\\u00%02x" % found[0][1], line)


def _encoded(message: JsonObject) -> bytes:
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:  # half a code point, which UTF-8 cannot hold
        return msgspec.json.encode(_rewritten(message, None))


def _rewritten(value: object, limit: int | None) -> object:
    """The value with encodable texts of at most `limit` characters."""
    if isinstance(value, str):
        return _text(value, limit)
    if _is_mapping(value):
        if limit is not None and value.get("type") in _MEDIA and len(_encoded(dict(value))) > limit:
            return {"type": "text", "text": f"[{value['type']} left out: too long for this stream]"}
        return {_text(key, limit): _rewritten(item, limit) for key, item in value.items()}
    if _is_sequence(value):
        return _items(value, limit)
    return value


def _items(values: Sequence[object], limit: int | None) -> list[object]:
    if limit is None or len(values) <= limit // _CHARACTERS_AN_ITEM:
        return [_rewritten(value, limit) for value in values]
    kept = values[: limit // _CHARACTERS_AN_ITEM]
    left_out = f"[... {len(values) - len(kept)} items left out ...]"
    return [*(_rewritten(value, limit) for value in kept), left_out]


def _is_small(value: object) -> bool:
    return len(msgspec.json.encode(_rewritten(value, None))) < _SMALL_FIELD_BYTES


def _text(text: str, limit: int | None) -> str:
    legal = text.encode("utf-8", "replace").decode()
    if limit is None or len(legal) <= limit:
        return legal
    return f"{legal[:limit]}\n[... {len(legal) - limit} characters left out ...]"


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, (list, tuple))

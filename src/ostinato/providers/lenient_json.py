"""JSON at a foreign boundary: fast when it is sound, and still safe when it holds half surrogate pairs or bad bytes.

Whatever comes in or goes out, the strings of the engine and the bytes on the wire are valid Unicode afterwards.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, TypeVar, cast

import msgspec

from ostinato.errors import ModelError

Wire = TypeVar("Wire")

CARRIES_MEANING = frozenset({
    "arguments", "content", "content_block", "function", "function_call", "input", "item", "output", "partial_json",
    "tool_calls",
})  # fmt: skip
"""Fields without which a reply would say something else: of a type that cannot be made to fit, they make it unreadable."""

MAX_MENDED_FIELDS = 20
"""How many fields of one event may be wrong before it is no event any more."""

MAX_NESTING = 100
"""Deeper objects are not read: whoever encodes, checks or shows one recurses too, and Python ends that near a thousand."""

Unreadable = (msgspec.MsgspecError, RecursionError)
"""What a decoder raises for bytes that say nothing; the second for brackets a thousand deep."""


FIRST_HALF, FIRST_MARK = 0xD800, 0x10F800
"""Halves of surrogate pairs, and the private characters that stand for them: no valid text can hold the halves themselves."""


def _marked(text: str) -> str:
    """`text` with surrogate pairs put together and a mark for each half that is alone: its other half may come later."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if joined.isprintable():  # halves are not
        return joined
    return "".join(
        chr(ord(one) - FIRST_HALF + FIRST_MARK) if "\ud800" <= one <= "\udfff" else one for one in joined
    )


def valid_text(text: str) -> str:
    """`text` with surrogate pairs put together and lone halves replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def decode_as(decoder: msgspec.json.Decoder[Wire], data: bytes) -> Wire:
    """Decode `data`, once more with care if it does not decode at once. Raises `msgspec.DecodeError`. What is no valid text
    in it is marked, see `half_characters.py`."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Bytes that are no UTF-8, or half a surrogate pair.
        repaired = _repaired(data)
        if repaired is None:
            raise
        return decoder.decode(repaired)


def decode_event(decoder: msgspec.json.Decoder[Wire], data: bytes) -> Wire:
    """`decode_as` for an event of a reply, whose single fields may be of a wrong type. Raises `ModelError`
    (`malformed_response`); what is no JSON at all was garbled on its way and may come whole the next time."""
    try:
        return _decode_mending(decoder, data)
    except Unreadable as error:
        raise ModelError(
            f"an event of the reply cannot be read ({error}): `{data[:200].decode('utf-8', 'replace')}`",
            kind="malformed_response",
            retry=isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError),
            hint="check the base URL: it may lead to an interface of another kind",
        ) from error


def _decode_mending(decoder: msgspec.json.Decoder[Wire], data: bytes) -> Wire:
    """One field of a wrong type costs that field, not the reply: it is made to fit if it can be, and left out otherwise."""
    try:
        return decode_as(decoder, data)
    except msgspec.ValidationError:
        value: object = msgspec.json.decode(data)
    lax = msgspec.json.Decoder(decoder.type, strict=False)  # takes `"7"` and `7.0` for 7
    for _ in range(MAX_MENDED_FIELDS):
        try:
            return lax.decode(msgspec.json.encode(value))
        except msgspec.ValidationError as error:
            if not _mend(value, str(error)):
                raise
    return lax.decode(msgspec.json.encode(value))


def _mend(value: object, problem: str) -> bool:
    """Make the field that `problem` names fit, in place; False if it names none, or one that may not be missing."""
    path = re.search(r"at `\$(.+)`$", problem)
    steps = re.findall(r"\.(\w+)|\[(\d+)\]", path[1]) if path else []
    keys = [name or int(place) for name, place in steps]
    if not keys:
        return False
    holder: Any = value
    for key in keys[:-1]:
        holder = holder[key]
    fitting = _fitting(holder[keys[-1]], problem, is_call=keys[-1] == "arguments")
    if fitting is None and isinstance(holder, dict):
        del holder[keys[-1]]  # not every field may be null
    else:
        holder[keys[-1]] = fitting
    return fitting is not None or keys[-1] not in CARRIES_MEANING


def _fitting(value: object, problem: str, *, is_call: bool) -> object:
    """A single object where a list belongs is a list of one, a number where text belongs its digits. Arguments of a call
    stay what they are, as text: they are refused later, and never run as if there had been none."""
    expected = problem.partition("got")[0]
    if isinstance(value, dict) and "array" in expected:
        return [cast("object", value)]
    if "str" in expected and (is_call or (isinstance(value, int | float) and not isinstance(value, bool))):
        return msgspec.json.encode(value).decode()
    return None


def no_reply(data: bytes) -> ModelError:
    """For JSON that decodes and holds nothing of a reply."""
    return ModelError(
        f"the answer holds no reply: `{data[:200].decode('utf-8', 'replace')}`",
        kind="malformed_response",
        hint="check the base URL: it may lead to an interface of another kind",
    )


def encode(value: object) -> bytes:
    """Compact JSON, valid UTF-8 whatever the strings hold."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_with_text(msgspec.to_builtins(value, str_keys=True), valid_text))


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object that `text` holds, or None if it holds no complete object, one nested deeper than `MAX_NESTING`, or half
    a character: mended, it would say something else, and a call would do something else."""
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    if not isinstance(value, dict) or _nests_too_deep(cast("object", value)):
        return None
    return cast("dict[str, Any]", value)


def _nests_too_deep(value: object) -> bool:
    """Level by level, so that it does not recurse itself."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [item for part in level for item in _items(part) if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _items(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value)


def _repaired(data: bytes) -> bytes | None:
    """The same JSON with marks for what is no valid text, or None if it is no JSON. Nesting too deep to read is none either."""
    try:
        import json  # ruff: ignore[import-outside-top-level] - only what the fast decoder refuses needs it

        value: object = json.loads(
            data.decode("utf-8", "surrogateescape"), parse_constant=_refuse, parse_float=_finite
        )
        return msgspec.json.encode(_with_text(value, _marked))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _refuse(number: str) -> object:
    raise ValueError(f"`{number}` is no number of JSON")


def _finite(number: str) -> object:
    """Beyond all numbers it would become `null`, and something else would have been said."""
    value = float(number)
    return value if isfinite(value) else _refuse(number)


def _with_text(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return {change(key): _with_text(item, change) for key, item in entries.items()}
    if isinstance(value, list | tuple):
        return [_with_text(item, change) for item in cast("list[object]", value)]
    return value

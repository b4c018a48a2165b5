"""From the bytes of a settings file to an object, or to the one reason why not, with its line and column.

Promise: whatever the bytes are, the answer is a value; a name that stands twice is told, for it hides what stood first.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from ostinato.config.shape import is_list, is_object

MAX_BYTES: Final = 1 << 20
"""A settings file of more than this is no settings file."""

MAX_DEPTH: Final = 64
"""Objects and lists within one another; so that no file can exhaust the stack."""

_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_SPLIT_SURROGATE: Final = re.compile(r"\\ud[89a-f]", re.IGNORECASE)
_LEFT_OVER_COMMA: Final = re.compile(r",\s*\Z")


class Read(msgspec.Struct, frozen=True):
    """`repeated`: names that stand more than once in one object; the last counts."""

    data: dict[str, object]
    repeated: tuple[str, ...] = ()


class Unreadable(msgspec.Struct, frozen=True):
    """`line` and `column` count from 1; None where the file as a whole is at fault."""

    what: str
    hint: str = ""
    line: int | None = None
    column: int | None = None


_TOO_DEEP: Final = Unreadable("is nested too deeply", f"at most {MAX_DEPTH} levels are read")


def read_settings_text(content: bytes) -> Read | Unreadable:
    """The object in `content`. A mark of UTF-8 at its start is skipped; comments are not JSON and are refused."""
    if len(content) > MAX_BYTES:
        return Unreadable(f"has more than {MAX_BYTES} bytes", "split it, or take out what is no setting")
    if content.startswith(_UTF16_MARKS):
        return Unreadable("is UTF-16", "save it as UTF-8")
    try:
        text = content.removeprefix(_UTF8_MARK).decode()
    except UnicodeDecodeError as error:
        line, column = _place(content[: error.start].decode(errors="replace"))
        return Unreadable("is not UTF-8", "save it as UTF-8", line, column)
    if not text.strip():
        return Unreadable("is empty", "write `{}` into it, or delete it")
    return _read(text)


def _read(text: str) -> Read | Unreadable:
    repeated: list[str] = []
    try:
        data = _decode(text, repeated)
    except json.JSONDecodeError as error:
        what, hint = _reason(text, error)
        return Unreadable(what, hint, error.lineno, error.colno)
    except RecursionError:
        return _TOO_DEEP
    except ValueError as error:
        return Unreadable(str(error), "write a number of ordinary size")
    if not is_object(data):
        return Unreadable("is not an object", 'the file starts with "{" and ends with "}"')
    if _is_deeper_than(MAX_DEPTH, data):
        return _TOO_DEEP
    if _SPLIT_SURROGATE.search(text) and _has_half_a_character(data):
        return Unreadable("holds half of a surrogate pair", r"write the character itself instead of `\ud…`")
    return Read(dict(data), tuple(dict.fromkeys(repeated)))


def _decode(text: str, repeated: list[str]) -> object:
    """The value; names that repeat are added to `repeated`. Raises ValueError and RecursionError."""

    def object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    repeated.append(name)
                seen.add(name)
        return found

    return json.loads(text, object_pairs_hook=object_of, parse_constant=_refuse, parse_float=_finite)


def _is_deeper_than(limit: int, data: object) -> bool:
    level: list[object] = [data]
    for _ in range(limit):
        level = [below for value in level for below in _parts(value)]
        if not level:
            return False
    return True


def _parts(value: object) -> Iterable[object]:
    if is_object(value):
        return value.values()
    return value if is_list(value) else ()


def _refuse(constant: str) -> object:
    raise ValueError(f"holds `{constant}`, which JSON does not have")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("holds a number too large to keep")
    return number


def _has_half_a_character(data: object) -> bool:
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _reason(text: str, error: json.JSONDecodeError) -> tuple[str, str]:
    """What is wrong, without a word of the file's content: it may be a secret that a link led to."""
    at = text[error.pos : error.pos + 1]
    before = text[: error.pos]
    if not at:
        return "ends too early", "the file may have been cut: close what is open, or restore it"
    if at in "/#":
        return "has a comment", "JSON has no comments: take it out"
    if at in "}]" and _LEFT_OVER_COMMA.search(before):
        return "has a comma before the end", "take the last comma out"
    if at == "'":
        return "has single quotes", "JSON takes double quotes"
    return f"is not JSON ({error.msg})", "check commas, quotes and brackets there"


def _place(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1

"""The values of a project's settings for a person who decides about them: secrets hidden, and nothing else.

Promise: what acts stays in sight. A name alone hides a value only where names are of somebody's choice and the value is
data (variables, headers, keys); in commands, arguments and addresses no more is hidden than the secret itself.
"""

import re
from collections.abc import Iterator
from typing import Final

from ostinato.config.shape import is_list, is_object
from ostinato.secret_values import looks_secret, masked

HIDDEN: Final = "(hidden)"

_SECRET_NAME: Final = re.compile(
    r"key(?!board)|token|secret|passw|passphrase|credential|auth(?!or)|bearer|cookie|private|signature|dsn|pwd",
    re.IGNORECASE,
)
_DATA: Final = frozenset({"env", "headers"})
"""Objects whose values are data under names that somebody chose."""

_ACTING: Final = re.compile(r"GIT_.*|.*(?:_COMMAND|_HELPER|_REFRESH|_EXPORT|_ASKPASS)", re.IGNORECASE)
"""Names whose value is run, or chooses what is."""

_LONG: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=~.-]{32,}")
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_IN_ADDRESS: Final = re.compile(r"(?<=://)([^/\s:@]*):[^/\s@]+@")
_IN_QUERY: Final = re.compile(r"(?i)([?&][\w-]*(?:key|token|secret|password|signature)=)[^&\s\"'#]{8,}")
_OPTION: Final = re.compile(r"(?i)--?[\w-]*(?:token|secret|passw|api-?key|auth|bearer)[\w-]*")


def without_secrets(key: str, value: object) -> object:
    """`value` of the setting `key` (the whole way to it, dots between) with every secret in it replaced."""
    if is_object(value):
        return {
            name: without_secrets(f"{key}.{name.replace('.', '_')}", part) for name, part in value.items()
        }
    if is_list(value):
        return list(_items(key, value))
    if not isinstance(value, str):
        return value
    return HIDDEN if _is_secret(key, value) else _masked(value)


def _items(key: str, items: list[object]) -> Iterator[object]:
    """What follows an option such as `--token` is its value."""
    before: object = ""
    for item in items:
        is_value = isinstance(before, str) and isinstance(item, str) and _OPTION.fullmatch(before)
        named, mark, _ = item.partition("=") if isinstance(item, str) else ("", "", "")
        if is_value and not str(item).startswith("-"):
            yield HIDDEN
        elif mark and _OPTION.fullmatch(named):
            yield f"{named}={HIDDEN}"
        else:
            yield without_secrets(f"{key}[]", item)
        before = item


def _is_secret(key: str, value: str) -> bool:
    if key.endswith("[]"):
        return False
    *above, name = key.split(".")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_")
    if _ACTING.fullmatch(words):
        return False
    is_data = bool(above) and above[-1] in _DATA
    return looks_secret(words) or (is_data and bool(_SECRET_NAME.search(name) or _LONG.fullmatch(value)))


def _masked(text: str) -> str:
    text = _BEARER.sub(lambda match: f"{match[1]} {HIDDEN}", text)
    text = _IN_ADDRESS.sub(lambda match: f"{match[1]}:{HIDDEN}@", text)
    text = _IN_QUERY.sub(lambda match: f"{match[1]}{HIDDEN}", text)
    return masked(text, ())

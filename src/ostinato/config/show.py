"""The effective settings with the origin of each value, as lines for people and as JSON for programs; secrets hidden."""

import json
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from ostinato.config.load import Effective
from ostinato.config.merge import leaves
from ostinato.config.shape import is_list, is_object
from ostinato.config.source import Problem, Sourced

HIDDEN: Final = "(hidden)"

_SECRET_NAME: Final = re.compile(
    r"key(?!board)|token|secret|passw|passphrase|credential|auth(?!or)|bearer|cookie|private|signature|dsn|pwd",
    re.IGNORECASE,
)
_SECRET_VALUE: Final = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[a-z]|hf|npm|pypi)[-_][A-Za-z0-9_-]{8,}"
    r"|\bAKIA[A-Z0-9]{12,}|\beyJ[A-Za-z0-9_-]{10,}|-----BEGIN|\b(?:bearer|basic)\s+\S{8,}"
    r"|://[^/\s:@]*:[^/\s@]+@|\b(?:api[-_]?key|token|secret|password)=\S+",
    re.IGNORECASE,
)
_LONG: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=~.-]{32,}")
_NOT_SECRET: Final = frozenset({"apiKeyHelper"})
_ENDS_WITH_PLACE: Final = re.compile(r"\[\d+\]$")


class Shown(msgspec.Struct, frozen=True):
    """One value. `level`, `file` and `written_as` say where it comes from; `file` is the flag's name where there is none."""

    key: str
    value: object
    level: str
    file: str
    written_as: str


def shown(items: Sequence[tuple[str, Sourced[object]]]) -> tuple[Shown, ...]:
    """`items` are those of `leaves(effective.merged)`, or of `effective.withheld`."""
    return tuple(
        Shown(
            key,
            _without_secrets(key, item.value),
            item.origin.source.level,
            item.origin.source.name,
            item.origin.key,
        )
        for key, item in items
    )


def show_text(effective: Effective, *, with_origin: bool) -> str:
    """A line for each value. Everything but ASCII is escaped: a project may have written it to fool a terminal."""
    parts = [_lines(shown(tuple(leaves(effective.merged))), with_origin=with_origin)]
    if effective.withheld:
        parts.append("# not in effect, for this project is not trusted:\n")
        parts.append(_lines(shown(effective.withheld), with_origin=with_origin, before="# "))
    return "".join(parts)


def show_json(effective: Effective, problems: Sequence[Problem] = ()) -> str:
    """One object: `settings` and `withheld` are lists of `Shown`, `problems` of what was left out and why."""
    answer = {
        "settings": [_plain(item) for item in shown(tuple(leaves(effective.merged)))],
        "withheld": [_plain(item) for item in shown(effective.withheld)],
        "problems": [
            {
                "file": problem.source.name,
                "level": problem.source.level,
                "key": problem.key,
                "line": problem.line,
                "column": problem.column,
                "what": problem.what,
                "hint": problem.hint,
            }
            for problem in problems
        ],
    }
    return json.dumps(answer, indent=2) + "\n"


def _plain(item: Shown) -> dict[str, object]:
    return {name: getattr(item, name) for name in item.__struct_fields__}


def _lines(items: Sequence[Shown], *, with_origin: bool, before: str = "") -> str:
    lines: list[str] = []
    for item in items:
        origin = f"  # {item.level}: {_escaped(item.file)}" if with_origin else ""
        lines.append(f"{before}{_escaped(item.key)} = {json.dumps(item.value)}{origin}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1].replace('\\"', '"').replace("\x7f", "\\u007f")


def _without_secrets(key: str, value: object) -> object:
    """The value with what may be a secret hidden, by its name or its look; better one too many than one too few."""
    name = _ENDS_WITH_PLACE.sub("", key).rsplit(".", 1)[-1]
    if is_object(value):
        return {below: _without_secrets(f"{key}.{below}", part) for below, part in value.items()}
    if is_list(value):
        return [_without_secrets(key, part) for part in value]
    if not isinstance(value, str):
        return value
    if name not in _NOT_SECRET and _SECRET_NAME.search(key):
        return HIDDEN
    return HIDDEN if _SECRET_VALUE.search(value) or _LONG.fullmatch(value) else value

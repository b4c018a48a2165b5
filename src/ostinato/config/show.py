"""The effective settings with the origin of each value, as lines for people and as JSON for programs; secrets hidden."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ostinato.config.keys import SETTINGS
from ostinato.config.line_of import lines_of
from ostinato.config.load import Effective
from ostinato.config.merge import Document, leaves, merge
from ostinato.config.read_file import read_settings_file
from ostinato.config.shape import Fields, is_list, is_object
from ostinato.config.source import Problem, Sourced
from ostinato.secret_values import may_be_secret
from ostinato.visible_text import visible_ascii

HIDDEN: Final = "(hidden)"

NO_SETTINGS: Final = "# no setting is in effect: everything is as it is by default\n"

Use: TypeAlias = Literal["yes", "not yet", "unknown"]

_NOT_SECRET: Final = frozenset({"apiKeyHelper", "privateHosts"})
_ENDS_WITH_PLACE: Final = re.compile(r"\[\d+\]$")


class Beaten(msgspec.Struct, frozen=True):
    """A value that does not count, because one of a higher level does."""

    value: object
    level: str
    file: str
    line: int | None


class Shown(msgspec.Struct, frozen=True):
    """One value. `level`, `file`, `line` and `written_as` say where it comes from; `file` is the flag's or the variable's name
    where there is none. `use` is `yes`, `not yet` (read, but nothing acts on it) or `unknown` (a key of somebody else's).
    """

    key: str
    value: object
    level: str
    file: str
    line: int | None
    written_as: str
    use: Use
    overrides: tuple[Beaten, ...] = ()


Lines: TypeAlias = Mapping[str, Mapping[str, int]]
"""File to key to line."""


def lines_in(documents: Sequence[Document]) -> Lines:
    """The lines of the files as they are now; a file that changed meanwhile may give none."""
    found: dict[str, Mapping[str, int]] = {}
    for document in documents:
        path = document.source.path
        content = None if path is None else read_settings_file(path)
        if isinstance(content, bytes):
            found[document.source.name] = lines_of(content)
    return found


def shown(
    items: Sequence[tuple[str, Sourced[object]]],
    lines: Lines | None = None,
    documents: Sequence[Document] = (),
) -> tuple[Shown, ...]:
    """`items` are those of `leaves(effective.merged)`, or of `effective.withheld`; `documents` those of `effective`."""
    beaten = _beaten(documents, lines or {})
    return tuple(
        Shown(
            key,
            _without_secrets(key, item.value),
            item.origin.source.level,
            item.origin.source.name,
            _line(item, lines or {}),
            item.origin.key,
            use_of(key),
            beaten.get(key, ()),
        )
        for key, item in items
    )


def use_of(key: str) -> Use:
    """Whether anything acts on the setting `key`, which is the whole way to a value."""
    fields = SETTINGS
    for part in _ENDS_WITH_PLACE.sub("", key).split("."):
        known = next((entry for entry in fields.keys if entry.name == part), None)
        if known is None:
            return "unknown"
        if not isinstance(known.shape, Fields):
            return "yes" if known.is_used else "not yet"
        fields = known.shape
    return "yes"


def _beaten(documents: Sequence[Document], lines: Lines) -> dict[str, tuple[Beaten, ...]]:
    """Single values of which another one counts; lists add up, so none of their items is beaten."""
    found: dict[str, list[Beaten]] = {}
    winners: set[str] = set()
    for document in documents:
        for key, item in leaves(merge((document,))):
            if "[" in key:
                continue
            if key in winners:
                source = item.origin.source
                entry = Beaten(
                    _without_secrets(key, item.value), source.level, source.name, _line(item, lines)
                )
                found.setdefault(key, []).append(entry)
            winners.add(key)
    return {key: tuple(entries) for key, entries in found.items()}


def _with_lines(problems: Sequence[Problem], lines: Lines) -> tuple[Problem, ...]:
    return tuple(
        problem
        if problem.line is not None or not problem.key
        else replace(problem, line=lines.get(problem.source.name, {}).get(problem.key))
        for problem in problems
    )


def _line(item: Sourced[object], lines: Lines) -> int | None:
    return lines.get(item.origin.source.name, {}).get(item.origin.key)


def show_text(
    effective: Effective,
    *,
    with_origin: bool,
    problems: Sequence[Problem] = (),
    lines: Lines | None = None,
) -> str:
    """A line for each value; one that says so where there is none. Everything but ASCII is escaped: a project may have
    written it to fool a terminal.
    """
    items = shown(tuple(leaves(effective.merged)), lines, effective.documents)
    parts = [_lines(items, with_origin=with_origin)]
    if effective.withheld:
        parts.append("# not in effect, for this project is not trusted:\n")
        parts.append(_lines(shown(effective.withheld, lines), with_origin=with_origin, before="# "))
    if problems:
        parts.append("# left out, for it is wrong:\n")
        parts.extend(
            f"# {visible_ascii(str(problem))}{visible_ascii(f'; {problem.hint}' if problem.hint else '')}\n"
            for problem in _with_lines(problems, lines or {})
        )
    return "".join(parts) or NO_SETTINGS


def show_json(effective: Effective, problems: Sequence[Problem] = (), lines: Lines | None = None) -> str:
    """One object: `settings` and `withheld` are lists of `Shown`, `problems` of what was left out and why."""
    answer = {
        "settings": [
            msgspec.to_builtins(item)
            for item in shown(tuple(leaves(effective.merged)), lines, effective.documents)
        ],
        "withheld": [msgspec.to_builtins(item) for item in shown(effective.withheld, lines)],
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
            for problem in _with_lines(problems, lines or {})
        ],
    }
    return json.dumps(answer, indent=2) + "\n"


_NOTES: Final[Mapping[Use, str]] = {
    "yes": "",
    "not yet": "nothing acts on it yet",
    "unknown": "no setting of ostinato; it has no effect",
}


def _lines(items: Sequence[Shown], *, with_origin: bool, before: str = "") -> str:
    lines: list[str] = []
    for item in items:
        notes = [_NOTES[item.use]]
        if with_origin:
            notes.insert(0, f"{item.level}: {_place(item)}")
            notes.extend(
                f"instead of {json.dumps(beaten.value)} of {beaten.level}: {_place(beaten)}"
                for beaten in item.overrides
            )
        note = "; ".join(note for note in notes if note)
        lines.append(
            f"{before}{visible_ascii(item.key)} = {json.dumps(item.value)}{f'  # {note}' if note else ''}\n"
        )
    return "".join(lines)


def _place(item: Shown | Beaten) -> str:
    return visible_ascii(item.file) + ("" if item.line is None else f":{item.line}")


def _without_secrets(key: str, value: object) -> object:
    """The value with what may be a secret hidden, by its name or its look; better one too many than one too few."""
    name = _ENDS_WITH_PLACE.sub("", key).rsplit(".", 1)[-1]
    if is_object(value):
        return {below: _without_secrets(f"{key}.{below}", part) for below, part in value.items()}
    if is_list(value):
        return [_without_secrets(key, part) for part in value]
    if not isinstance(value, str):
        return value
    return HIDDEN if may_be_secret("" if name in _NOT_SECRET else key, value) else value

"""The published JSON Schema of a settings file, and the table of the documentation: both made from `keys.py`.

The schema lies beside this file as `settings.schema.json`; a test holds it to what this module makes.
"""

import json
from pathlib import Path
from typing import Final, assert_never

from ostinato.config.keys import SETTINGS
from ostinato.config.shape import (
    Amount,
    Anything,
    Fields,
    Hooks,
    Key,
    Named,
    Shape,
    Switch,
    Text,
    Texts,
    Variables,
    Whole,
)

SCHEMA_FILE: Final = Path(__file__).with_name("settings.schema.json")

_TEXT: Final[dict[str, object]] = {"type": "string", "pattern": r"\S"}
_TEXTS: Final[dict[str, object]] = {"type": "array", "items": _TEXT}


def schema_text() -> str:
    """The schema as it is published."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of ostinato",
        "description": "A `settings.json` or `settings.local.json` of `.ostinato/` or `.claude/`.",
        **_schema(SETTINGS),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def key_table() -> str:
    """A table in Markdown: every key, what it takes, what it is for, and whether anything acts on it yet."""
    rows = ["| key | value | meaning | in use |", "| --- | --- | --- | --- |"]
    rows.extend(_rows(SETTINGS, ""))
    return "\n".join(rows) + "\n"


def _rows(fields: Fields, above: str) -> list[str]:
    rows: list[str] = []
    for key in fields.keys:
        name = above + key.name
        below = key.shape.fields if isinstance(key.shape, Named) else key.shape
        if isinstance(below, Fields):
            rows.extend(_rows(below, f"{name}." if below is key.shape else f"{name}.NAME."))
        elif key.name != "$schema":
            rows.append(
                f"| `{name}` | {_words(key.shape)} | {key.meaning} | {'yes' if key.is_used else 'not yet'} |"
            )
    return rows


def _words(shape: Shape) -> str:
    match shape:
        case Text(choices=choices):
            return ", ".join(f"`{choice}`" for choice in choices) or "text"
        case Whole(minimum=minimum):
            return f"whole number, at least {minimum}"
        case Amount():
            return "number from 0"
        case Switch():
            return "`true`, `false`"
        case Texts(joins=joins, may_be_one=may_be_one):
            return ("list of texts" if not may_be_one else "text or list of texts") + (
                "" if joins else ", not joined"
            )
        case Variables():
            return "object: name to text"
        case Hooks():
            return "object: event to list"
        case Anything() | Fields() | Named():
            return "object"
        case _:
            assert_never(shape)


def _single(shape: Text | Whole | Amount | Switch) -> dict[str, object]:
    match shape:
        case Text(choices=choices):
            return {"type": "string", "enum": list(choices)} if choices else _TEXT
        case Whole(minimum=minimum):
            return {"type": "integer", "minimum": minimum}
        case Amount():
            return {"type": "number", "minimum": 0}
        case Switch():
            return {"type": "boolean"}
        case _:
            assert_never(shape)


def _schema(shape: Shape) -> dict[str, object]:
    match shape:
        case Text() | Whole() | Amount() | Switch():
            return _single(shape)
        case Texts(may_be_one=may_be_one):
            return {"anyOf": [_TEXT, _TEXTS]} if may_be_one else _TEXTS
        case Variables():
            names = {"pattern": r"^[^=\u0000]+$"}
            values = {"type": ["string", "integer", "boolean"]}
            return {"type": "object", "propertyNames": names, "additionalProperties": values}
        case Hooks():
            return {"type": "object", "additionalProperties": {"type": "array", "items": _hook_group()}}
        case Anything(kind=kind):
            return {"type": "object"} if kind == "object" else {}
        case Fields(keys=keys):
            return {"type": "object", "properties": {key.name: _property(key) for key in keys}}
        case Named(fields=fields):
            return {"type": "object", "additionalProperties": _schema(fields)}
        case _:
            assert_never(shape)


def _property(key: Key) -> dict[str, object]:
    note = "" if key.is_used else " (Read, but nothing acts on it yet.)"
    return {"description": key.meaning + note, **_schema(key.shape)}


def _hook_group() -> dict[str, object]:
    handler = {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}}
    return {
        "type": "object",
        "required": ["hooks"],
        "properties": {"matcher": {"type": "string"}, "hooks": {"type": "array", "items": handler}},
    }

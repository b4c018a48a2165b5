"""A schema from anywhere as one that every provider takes, or the reason why it cannot be one; a pure function.

Providers want an object at the top, no choice beside it, JSON and the words of today's draft, and refuse a whole request for one
tool that differs. What is repaired accepts at least what the original did.
"""

import math
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from ostinato.codec import encode
from ostinato.tool_schema_merge import CHOICES, NoForm, object_form
from ostinato.tool_schema_words import current_words, without_dead_references

Schema = Mapping[str, Any]

MAX_DEPTH: Final = 320
"""Containers inside one another; the deepest that a generated schema was seen to have is under 50."""

MAX_PARTS: Final = 100_000
"""Also counts what is shared again and again: that would be written out each time."""

NOT_AT_TOP: Final = frozenset({*CHOICES, "not", "enum", "const", "if", "then", "else", "dependentSchemas"})
"""OpenAI refuses the first five at the top, Anthropic the choices; no conditional there is known to be taken everywhere."""


class Usable(msgspec.Struct, frozen=True):
    """Can be sent as it is."""

    schema: Schema


class Repaired(msgspec.Struct, frozen=True):
    """Can be sent in this form; `changes` says what was done."""

    schema: Schema
    changes: tuple[str, ...]


class Refused(msgspec.Struct, frozen=True):
    """Has no form that could be sent."""

    why: str


SchemaOutcome = Usable | Repaired | Refused


def sendable_schema(given: object) -> SchemaOutcome:
    """What can be sent for this schema. It takes anything, and raises nothing."""
    if given is None or given is True:
        return Repaired({"type": "object"}, ("there was no schema: it takes any object",))
    if not isinstance(given, Mapping):
        return Refused(
            "it takes nothing" if given is False else f"it is no object but {type(given).__name__}"
        )
    schema = cast("Schema", given)
    problem = _json_problem(schema)
    if problem:
        return Refused(problem)
    changes: list[str] = []
    current = current_words(schema, changes)
    formed = _object(current, changes)
    if isinstance(formed, NoForm):
        return Refused(formed.why)
    sound = without_dead_references(formed, changes)
    return Repaired(sound, tuple(dict.fromkeys(changes))) if changes else Usable(schema)


def _object(schema: Schema, changes: list[str]) -> Schema | NoForm:
    if schema.get("type") == "object" and "$ref" not in schema and not NOT_AT_TOP & schema.keys():
        return schema
    formed = object_form(schema)
    if isinstance(formed, NoForm):
        return formed
    if "$ref" in schema:
        changes.append("the `$ref` at the top was put in place")
    if schema.get("type") != "object":
        changes.append("`type` at the top is `object`")
    changes += [f"`{word}` at the top became one object" for word in CHOICES if word in schema]
    dropped = sorted((NOT_AT_TOP - set(CHOICES)) & formed.keys())
    changes += [f"`{word}` at the top was left out" for word in dropped]
    return {key: value for key, value in formed.items() if key not in NOT_AT_TOP}


def _json_problem(schema: Schema) -> str | None:
    waiting: list[tuple[object, int]] = [(schema, 1)]
    parts = 0
    while waiting:
        value, depth = waiting.pop()
        parts += 1
        if depth > MAX_DEPTH or parts > MAX_PARTS:
            return "it contains itself, or is too deep or too large: say `$ref` for what contains itself"
        if isinstance(value, Mapping):
            named = cast("Mapping[object, object]", value)
            if not all(isinstance(key, str) for key in named):
                return "it is no JSON: a name in it is no text"
            waiting += [(one, depth + 1) for one in named.values()]
        elif isinstance(value, list | tuple):
            waiting += [(one, depth + 1) for one in cast("list[object]", value)]
        elif not _is_plain(value):
            return f"it is no JSON: {value!r:.80}"
    try:
        encode(schema)
    except (TypeError, ValueError, RecursionError) as error:
        return f"it is no JSON: {error}"
    return None


def _is_plain(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)

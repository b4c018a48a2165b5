"""The words of older drafts in those of today's (2020-12), and words with a value that none of them knows left out.

One provider holds every schema against that draft and refuses the request of one that does not match.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from ostinato.tool_schema_merge import target_of

Schema = Mapping[str, Any]
Changes = list[str]

OF_NAMES: Final = frozenset({
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
})
OF_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
OF_ONE: Final = frozenset({
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
})
NUMBERS: Final = frozenset({
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
})
TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
LIMITS: Final = MappingProxyType({"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"})
CURRENT_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def current_words(schema: Schema, changes: Changes) -> dict[str, Any]:
    """The schema with all inside it in the words of the current draft; adds to `changes` what was different."""
    said = dict(schema)
    if str(said.get("$schema", CURRENT_DRAFT)).rstrip("#") != CURRENT_DRAFT:
        del said["$schema"]
        changes.append("`$schema` named another draft")
    _limits(said, changes)
    _tuples(said, changes)
    _required_ones(said, changes)
    for word in [word for word, value in said.items() if not _fits(word, value)]:
        del said[word]
        changes.append(f"`{word}` had a value that it cannot have")
    return _through(said, lambda one: current_words(one, changes))


def without_dead_references(schema: Schema, changes: Changes) -> dict[str, Any]:
    """The schema without references that lead nowhere in it: what stood behind one is anything."""

    def sound(one: Schema) -> dict[str, Any]:
        kept = dict(one)
        if "$ref" in one and target_of(one["$ref"], schema) is None:
            changes.append(f"`$ref` {one['$ref']!r:.80} leads nowhere in it")
            del kept["$ref"]
        return _through(kept, sound)

    return sound(schema)


def _through(said: dict[str, Any], each: Callable[[Schema], dict[str, Any]]) -> dict[str, Any]:
    """Of the same, with each schema right below as `each` makes it."""

    def changed(value: object) -> object:
        return each(cast("Schema", value)) if isinstance(value, Mapping) else value

    for word, value in said.items():
        if word in OF_NAMES:
            said[word] = {name: changed(one) for name, one in value.items()}
        elif word in OF_LISTS:
            said[word] = [changed(one) for one in value]
        elif word in OF_ONE:
            said[word] = changed(value)
    return said


def _limits(said: dict[str, Any], changes: Changes) -> None:
    for exclusive, limit in LIMITS.items():
        is_exclusive = said.get(exclusive)
        if isinstance(is_exclusive, bool):
            del said[exclusive]
            if is_exclusive and limit in said:
                said[exclusive] = said.pop(limit)
            changes.append(f"`{exclusive}` was a truth value")


def _tuples(said: dict[str, Any], changes: Changes) -> None:
    items: object = said.get("items")
    if isinstance(items, list | tuple):
        said["prefixItems"] = list(cast("list[object]", said.pop("items")))
        if "additionalItems" in said:
            said["items"] = said.pop("additionalItems")
        changes.append("`items` was a list")


def _required_ones(said: dict[str, Any], changes: Changes) -> None:
    """`required: true` inside a property was the third draft's way."""
    properties: object = said.get("properties")
    if not isinstance(properties, Mapping):
        return
    named = cast("Mapping[str, object]", properties)
    ones = [
        name
        for name, one in named.items()
        if isinstance(one, Mapping) and cast("Schema", one).get("required") is True
    ]
    if ones:
        before: object = said.get("required")
        known = [str(name) for name in cast("list[object]", before)] if isinstance(before, list) else []
        said["required"] = list(dict.fromkeys([*known, *ones]))
        changes.append("`required` stood inside properties")


def _fits(word: str, value: object) -> bool:
    if word in OF_NAMES:
        return isinstance(value, Mapping) and all(
            isinstance(one, Mapping | bool) for one in cast("Mapping[str, object]", value).values()
        )
    if word in OF_LISTS:
        return isinstance(value, list | tuple) and bool(cast("list[object]", value))
    if word in OF_ONE:
        return isinstance(value, Mapping | bool)
    return _fits_plain(word, value)


def _fits_plain(word: str, value: object) -> bool:
    if word in NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    match word:
        case "type":
            return _are_types(value)
        case "enum":
            return isinstance(value, list | tuple)
        case "required":
            return isinstance(value, list | tuple) and all(
                isinstance(one, str) for one in cast("list[object]", value)
            )
        case "$ref" | "description" | "title" | "pattern":
            return isinstance(value, str)
        case _:
            return True


def _are_types(value: object) -> bool:
    if isinstance(value, str):
        return value in TYPES
    return (
        isinstance(value, list | tuple)
        and bool(cast("list[object]", value))
        and all(isinstance(one, str) and one in TYPES for one in cast("list[object]", value))
    )

"""A schema from anywhere becomes one that every provider takes, which accepts what the original did, or is refused with a reason."""

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.invariants import tool_problems
from ostinato.ports import ToolSchema
from ostinato.tool_schema import Refused, Repaired, Usable, sendable_schema
from ostinato.tool_schema_merge import choice_problem
from ostinato.tool_schema_words import current_words

OBJECT: dict[str, Any] = {"type": "object"}
A: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
B: dict[str, Any] = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}
BOTH: dict[str, Any] = {"a": {"type": "string"}, "b": {"type": "integer"}}
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
}
MUTUAL: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/a"}},
    "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}},
}


def below(name: str, part: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: part}}


USABLE: dict[str, dict[str, Any]] = {
    "an object": A,
    "a tree": {**TREE, "$defs": {"node": TREE}},
    "two that hold one another": MUTUAL,
    "itself": below("x", {"$ref": "#"}),
    "a choice inside": below("x", {"anyOf": [A, B]}),
    "true inside": below("x", True),
}

REPAIRED: dict[str, tuple[Any, dict[str, Any]]] = {
    "none": (None, OBJECT),
    "true": (True, OBJECT),
    "empty": ({}, OBJECT),
    "no type": ({"properties": {"a": {}}}, {"properties": {"a": {}}, "type": "object"}),
    "object or null": ({"type": ["object", "null"]}, OBJECT),
    "one of two": (
        {"oneOf": [A, B]},
        {"type": "object", "properties": BOTH, "description": "Give one of: `a`; or `b`."},
    ),
    "all of two": ({"allOf": [A, B]}, {"type": "object", "properties": BOTH, "required": ["a", "b"]}),
    "an object or nothing": ({"anyOf": [A, {"type": "null"}]}, A),
    "at least one": (
        {**A, "required": [], "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {**A, "required": [], "description": "Give one of: `a`; or `b`."},
    ),
    "different types of one name": (
        {"anyOf": [below("a", {"type": "string"}), below("a", {"type": "null"})]},
        below("a", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ),
    "a reference at the top": ({"$ref": "#/$defs/a", "$defs": {"a": A}}, {**A, "$defs": {"a": A}}),
    "a tree at the top": (
        {"$ref": "#/$defs/node", "$defs": {"node": TREE}},
        {**TREE, "$defs": {"node": TREE}},
    ),
    "choices in definitions": (
        {"anyOf": [{"$ref": "#/definitions/a"}, {"$ref": "#"}], "definitions": {"a": A}},
        {**A, "definitions": {"a": A}},
    ),
    "a reference that leads nowhere": (below("x", {"$ref": "#/$defs/gone"}), below("x", {})),
    "a reference that leads elsewhere": (below("x", {"$ref": "https://example.com/s.json"}), below("x", {})),
    "not": ({**A, "not": {"required": ["b"]}}, A),
    "draft 4 limits": (
        below("x", {"minimum": 1, "exclusiveMinimum": True, "exclusiveMaximum": False}),
        below("x", {"exclusiveMinimum": 1}),
    ),
    "draft 4 tuples": (
        below("x", {"items": [{"type": "string"}], "additionalItems": False}),
        below("x", {"prefixItems": [{"type": "string"}], "items": False}),
    ),
    "draft 3 required": (
        below("x", {"type": "string", "required": True}),
        {**below("x", {"type": "string"}), "required": ["x"]},
    ),
    "truth values as limits": (
        below("x", {"minimum": True, "exclusiveMinimum": True, "maxLength": False}),
        below("x", {}),
    ),
    "another draft": ({**A, "$schema": "http://json-schema.org/draft-07/schema#"}, A),
    "odd values": (
        below("x", {"type": "any", "enum": 3, "properties": [], "required": "x", "description": None}),
        below("x", {}),
    ),
}


def in_a_circle() -> dict[str, Any]:
    circle = below("x", {})
    circle["properties"]["x"] = circle
    return circle


def deep(levels: int) -> dict[str, Any]:
    schema = OBJECT
    for _ in range(levels):
        schema = below("x", schema)
    return schema


def shared(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"anyOf": [schema, schema]}
    return below("x", schema)


REFUSED: dict[str, Any] = {
    "false": False,
    "a list": ["object"],
    "a text": "object",
    "an array": {"type": "array", "items": A},
    "text or null": {"type": ["string", "null"]},
    "nothing that fits": {"anyOf": [{"type": "string"}, {"type": "array"}]},
    "all of what cannot be": {"allOf": [A, {"type": "string"}]},
    "itself at the top": {"$ref": "#"},
    "a circle at the top": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    "nowhere at the top": {"$ref": "#/$defs/gone"},
    "elsewhere at the top": {"$ref": "https://example.com/s.json"},
    "not a number": below("x", {"default": float("nan")}),
    "infinity": below("x", {"maximum": float("inf")}),
    "a set": below("x", {"enum": {"a", "b"}}),
    "an object of Python": below("x", {"default": object()}),
    "a name that is no text": below("x", {(1, 2): {}}),
    "in a circle": in_a_circle(),
    "too deep": deep(100_000),
    "shared again and again": shared(60),
    "references that multiply": {
        "allOf": [{"$ref": "#/$defs/0"}],
        "$defs": {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)} | {"40": A},
    },
}


@pytest.mark.parametrize("kind", USABLE)
def test_what_every_provider_takes_stays_as_it_is(kind: str) -> None:
    assert sendable_schema(USABLE[kind]) == Usable(USABLE[kind])


@pytest.mark.parametrize("kind", REPAIRED)
def test_what_has_a_form_that_can_be_sent_gets_it_and_the_change_is_told(kind: str) -> None:
    foreign, expected = REPAIRED[kind]
    outcome = sendable_schema(foreign)
    assert isinstance(outcome, Repaired)
    assert outcome.schema == expected
    assert outcome.changes
    assert sendable_schema(outcome.schema) == Usable(outcome.schema)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_has_no_such_form_is_refused_with_a_reason(kind: str) -> None:
    outcome = sendable_schema(REFUSED[kind])
    assert isinstance(outcome, Refused)
    assert outcome.why


def test_a_given_schema_is_not_changed() -> None:
    foreign: dict[str, Any] = {"anyOf": [A, B], "definitions": {}}
    sendable_schema(foreign)
    assert foreign == {"anyOf": [A, B], "definitions": {}}


@pytest.mark.parametrize(
    ("schema", "tool_input", "is_right"),
    [
        ({"anyOf": [A, B]}, {"a": "x"}, True),
        ({"anyOf": [A, B]}, {"b": 1}, True),
        ({"oneOf": [A, B]}, {}, False),
        ({"anyOf": [A, {"type": "null"}]}, {}, False),
        ({"allOf": [A, B]}, {"a": "x"}, False),
        ({"allOf": [A, B]}, {"a": "x", "b": 1}, True),
        ({"$ref": "#/$defs/c", "$defs": {"c": {"anyOf": [A, B]}}}, {"c": 1}, False),
        ({"$ref": "#/$defs/c", "$defs": {"c": {"$ref": "#/$defs/c"}}}, {}, True),
    ],
)
def test_an_input_is_held_against_the_choices_of_the_original(
    schema: dict[str, Any], tool_input: dict[str, Any], is_right: bool
) -> None:
    assert (choice_problem(schema, tool_input) is None) is is_right


WORDS = st.sampled_from([
    *("type", "properties", "required", "items", "enum", "anyOf", "oneOf", "allOf", "$ref", "$defs", "not"),
    *("additionalProperties", "exclusiveMinimum", "minimum", "prefixItems", "$schema", "patternProperties"),
])
LEAVES = st.sampled_from([
    *("object", "string", "#", "#/$defs/type", "#/anyOf/0", "type", "any", "", "\ud800"),
    *(None, True, False, 0, 2**70, 0.5, float("inf")),
    *(["object", "null"], ["type"], {"type": "object"}),
])
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=40)
@given(ANYTHING | st.dictionaries(WORDS, ANYTHING, max_size=5))
def test_anything_gets_an_answer_and_what_can_be_sent_needs_no_second_repair(given_schema: Any) -> None:
    outcome = sendable_schema(given_schema)
    if isinstance(outcome, Refused):
        return
    assert sendable_schema(outcome.schema) == Usable(outcome.schema)
    assert not tool_problems([ToolSchema("Foreign", "", outcome.schema)])
    if isinstance(given_schema, dict):
        choice_problem(current_words(cast("dict[str, Any]", given_schema), []), {"type": 1})

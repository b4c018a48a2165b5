"""A JSON Schema as models read it best: references put in place, no titles, optional values without ceremony.

What it accepts stays the same. A type that contains itself keeps its reference, so that the schema stays finite.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

Schema = dict[str, Any]

REFERENCE: Final = "#/$defs/"
MAPS_OF_SCHEMAS: Final = frozenset({"properties", "patternProperties", "$defs"})


def plain_schema(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """The schema in one piece; `$defs` of its own remain for types that contain themselves."""
    flat = _Flattening(definitions)
    shaped = flat.shaped(schema, ())
    if flat.kept:
        shaped["$defs"] = flat.kept_definitions()
    return shaped


class _Flattening:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = dict(definitions)
        self.kept: set[str] = set()

    def kept_definitions(self) -> Schema:
        done: Schema = {}
        while self.kept - done.keys():
            for name in sorted(self.kept - done.keys()):
                done[name] = self.shaped(self._definitions[name], (name,))
        return done

    def shaped(self, schema: Mapping[str, Any], inside: tuple[str, ...]) -> Schema:
        """`inside` names the definitions that this one stands in."""
        schema = dict(schema)
        own: Mapping[str, Any] = schema.pop("$defs", {})
        self._definitions |= own
        reference = schema.pop("$ref", None)
        if isinstance(reference, str):
            name = reference.removeprefix(REFERENCE)
            if name in inside:
                self.kept.add(name)
                return {"$ref": reference, **schema}
            return self.shaped({**self._definitions[name], **schema}, (*inside, name))
        shaped = {key: self._part(key, value, inside) for key, value in schema.items() if key != "title"}
        return without_ceremony(shaped)

    def _part(self, key: str, value: Any, inside: tuple[str, ...]) -> Any:
        if key in {"default", "const", "enum", "examples", "required"}:
            return value
        if isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            if key in MAPS_OF_SCHEMAS:
                return {name: self._properly(one, inside) for name, one in named.items()}
            return self.shaped(named, inside)
        if isinstance(value, list):
            return [self._properly(one, inside) for one in cast("list[Any]", value)]
        return value

    def _properly(self, value: Any, inside: tuple[str, ...]) -> Any:
        return self.shaped(cast("Mapping[str, Any]", value), inside) if isinstance(value, Mapping) else value


def without_ceremony(schema: Schema) -> Schema:
    """`anyOf` with null as one type, and the type of choices said, where either can be."""
    schema = _typed_choices(schema)
    if schema.get("default", ...) is None:
        schema = {key: value for key, value in schema.items() if key != "default"}
    options = cast("Sequence[Any]", schema.get("anyOf", ()))
    real = [one for one in options if one != {"type": "null"}]
    if len(real) == len(options) or len(real) != 1 or not isinstance(real[0], Mapping):
        return schema
    only: Schema = {**real[0]}
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if not isinstance(only.get("type"), str):
        return schema
    only["type"] = [only["type"], "null"]
    if "enum" in only:
        only["enum"] = [*only["enum"], None]
    return {**only, **rest}


def without_null(schema: Mapping[str, Any]) -> Schema:
    """For what may be left out instead: null need not be offered as well."""
    schema = dict(schema)
    types = schema.get("type")
    if isinstance(types, list) and "null" in types:
        left = [name for name in cast("list[Any]", types) if name != "null"]
        schema["type"] = left[0] if len(left) == 1 else left
        if "enum" in schema:
            schema["enum"] = [choice for choice in schema["enum"] if choice is not None]
    elif "anyOf" in schema:
        options = [one for one in cast("Sequence[Any]", schema["anyOf"]) if one != {"type": "null"}]
        if len(options) == 1:
            return {**options[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
        schema["anyOf"] = options
    return schema


def _typed_choices(schema: Schema) -> Schema:
    choices = cast("Sequence[Any]", schema.get("enum", ()))
    if "type" in schema or not choices:
        return schema
    for kind, name in ((str, "string"), (bool, "boolean"), (int, "integer")):
        if all(type(choice) is kind for choice in choices):
            return {"type": name, **schema}
    return schema

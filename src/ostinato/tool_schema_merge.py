"""A schema that chooses at its top (`anyOf`, `oneOf`, `allOf`, `$ref`) as one object that takes at least the same inputs.

The choice itself is lost in that form; `choice_problem` checks an input against the original's choices.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from ostinato.tool_input import schema_problems

Schema = Mapping[str, Any]

CHOICES: Final = ("anyOf", "oneOf", "allOf")

MAX_FORMS: Final = 1_000
"""Parts that are looked at: references may name one another so that few of them stand for millions."""

BESIDE_REFERENCES: Final = frozenset({
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "description",
    "title",
    "type",
})
"""What takes nothing away from what the reference names."""


class NoForm(msgspec.Struct, frozen=True):
    """There is no object that this could be."""

    why: str


def object_form(schema: Schema) -> Schema | NoForm:
    """The object that stands for it; the definitions stay where they are."""
    return _Forming(schema).form(schema, ())


def choice_problem(schema: Schema, given: Schema) -> str | None:
    """What is wrong with an input by the choices at the schema's top, as far as this project checks schemas."""
    forming = _Forming(schema)
    chooser, steps = schema, 0
    while (target := target_of(chooser.get("$ref"), schema)) is not None and steps < MAX_FORMS:
        chooser, steps = target, steps + 1
    for word in CHOICES:
        forms = [forming.form(part, ()) for part in _schemas(chooser.get(word))]
        objects = [form for form in forms if not isinstance(form, NoForm)]
        wrong = [found for form in objects if (found := schema_problems(given, form))]
        if wrong and (word == "allOf" or len(wrong) == len(objects)):
            return " or: ".join("; ".join(found) for found in wrong)
    return None


class _Forming:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = MAX_FORMS

    def form(self, schema: Schema, inside: tuple[str, ...]) -> Schema | NoForm:
        """`inside` are the references that this one stands behind."""
        self._left -= 1
        if self._left < 0:
            return NoForm("its choices stand for too many forms")
        reference = schema.get("$ref")
        if reference is not None:
            return self._referred(schema, reference, inside)
        types = schema.get("type", "object")
        if "object" not in ([types] if isinstance(types, str) else types):
            return NoForm(f"it takes {types!r}, but the input of a call is an object")
        formed: Schema = {**schema, "type": "object"}
        for word in CHOICES:
            parts = _schemas(formed.get(word))
            formed = {key: value for key, value in formed.items() if key != word}
            if parts:
                merged = self._merged(formed, parts, inside, is_all=word == "allOf")
                if isinstance(merged, NoForm):
                    return merged
                formed = merged
        return formed

    def _referred(self, schema: Schema, reference: object, inside: tuple[str, ...]) -> Schema | NoForm:
        target = target_of(reference, self._root)
        if target is None or not isinstance(reference, str):
            return NoForm(f"its `$ref` {reference!r:.80} leads nowhere in it")
        if reference in inside:
            return NoForm(f"its `$ref` `{reference}` leads back to itself")
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        if target is self._root and schema is self._root:
            return NoForm(f"its `$ref` `{reference}` leads back to itself")
        form = self.form(target, (*inside, reference))
        if isinstance(form, NoForm):
            return form
        if rest.keys() <= BESIDE_REFERENCES:
            return {**form, **rest, "type": "object"}
        return self._merged({**rest, "type": "object"}, [form], inside, is_all=True)

    def _merged(
        self, base: Schema, parts: Sequence[Schema], inside: tuple[str, ...], *, is_all: bool
    ) -> Schema | NoForm:
        forms = [self.form(part, inside) for part in parts]
        fitting = [form for form in forms if not isinstance(form, NoForm)]
        failed = [form for form in forms if isinstance(form, NoForm)]
        if failed and (is_all or not fitting):
            return failed[0]
        merged: dict[str, Any] = {**_said_by(fitting), **base}
        properties = _properties(base, fitting, "allOf" if is_all else "anyOf")
        if properties:
            merged["properties"] = properties
        required = _required([base]) | (_required(fitting) if is_all else _required_by_all(fitting))
        if required:
            merged["required"] = sorted(required)
        if not is_all and "additionalProperties" not in base and all(_is_closed(form) for form in fitting):
            merged["additionalProperties"] = False
        wanted = [_names(sorted(_required([form]))) for form in fitting if _required([form])]
        if not is_all and len(wanted) > 1 and len(set(wanted)) > 1:
            told = merged.get("description")
            merged["description"] = f"{told} " * bool(told) + "Give one of: " + "; or ".join(wanted) + "."
        return merged


def target_of(reference: object, root: Schema) -> Schema | None:
    """What a reference inside the schema (`#/$defs/a`) names; None if it names nothing there, or something elsewhere."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    found: Any = root
    for step in reference.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = cast("Schema", found).get(name)
        elif isinstance(found, list | tuple) and name.isdecimal():
            found = dict(enumerate(cast("Sequence[object]", found))).get(int(name[:9]))
        else:
            return None
    return cast("Schema", found) if isinstance(found, Mapping) else None


def _said_by(forms: Sequence[Schema]) -> dict[str, Any]:
    """What a single form says beside its properties, such as its description."""
    kept = ("description", "title", "$defs", "definitions", "patternProperties")
    return {key: forms[0][key] for key in kept if key in forms[0]} if len(forms) == 1 else {}


def _properties(base: Schema, forms: Sequence[Schema], word: str) -> dict[str, Any]:
    own = _mapping(base.get("properties"))
    found: dict[str, list[Any]] = {}
    for form in forms:
        for name, one in _mapping(form.get("properties")).items():
            known = found.setdefault(name, [])
            if one not in known:
                known.append(one)
    merged = dict(own)
    for name, ones in found.items():
        is_open = own[name] in ({}, True) if name in own else base.get("additionalProperties") is not False
        if is_open:
            merged[name] = ones[0] if len(ones) == 1 else {word: ones}
    return merged


def _required(forms: Iterable[Schema]) -> set[str]:
    return {str(name) for form in forms for name in form.get("required", ())}


def _required_by_all(forms: Sequence[Schema]) -> set[str]:
    return set[str].intersection(*(_required([form]) for form in forms))


def _is_closed(form: Schema) -> bool:
    return form.get("additionalProperties") is False and "patternProperties" not in form


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _mapping(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else {}


def _schemas(value: object) -> list[Schema]:
    """`true` takes anything, `false` and what is no schema nothing."""
    if not isinstance(value, list | tuple):
        return []
    parts = cast("Sequence[object]", value)
    return [cast("Schema", one) if isinstance(one, Mapping) else _plain(one) for one in parts]


def _plain(value: object) -> Schema:
    return {} if value is True else {"type": "null"}

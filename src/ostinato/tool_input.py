"""A tool call's input against the tool's JSON Schema: repaired where there is no doubt, else one message that says it all.

Understands what our tools and most MCP tools use: type, required, properties, additionalProperties, enum, items. What it
does not understand it lets pass; the tool itself, or the server behind it, has the last word.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

import msgspec

from ostinato.tool import Tool

BOOLEAN_WORDS: Final = MappingProxyType({"true": True, "false": False})

KIND_NAMES: Final = MappingProxyType({
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "array": "an array",
    "object": "an object",
    "null": "null",
})

Problems = list[str]


class InvalidInput(msgspec.Struct, frozen=True):
    """The call cannot run; `message` tells the model everything that is wrong with its input."""

    message: str


def checked_input(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any] | InvalidInput:
    """The input as the tool gets it.

    `"20"` where an integer belongs is 20, `"true"` is true, null for what may be left out is left out.
    """
    problems: Problems = []
    checked = _checked_object(_in_todays_names(tool, given), tool.input_schema, "", problems)
    if problems:
        return InvalidInput(f"the input of {tool.name} is not valid: " + "; ".join(problems))
    wrong = tool.validate(checked)
    return checked if wrong is None else InvalidInput(f"the input of {tool.name} is not valid: {wrong}")


def _in_todays_names(tool: Tool, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """An older name beside today's stays, and is refused: nobody knows which of them is meant."""
    older = tool.unshown_inputs
    if older.keys().isdisjoint(given):
        return given
    renamed = {name: value for name, value in given.items() if name not in older}
    for name in given.keys() & older.keys():
        if now := older[name]:
            renamed[name if now in renamed else now] = given[name]
    return renamed


def schema_problems(given: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[str, ...]:
    """What is wrong with an input by this schema, as far as it is understood; empty if nothing is."""
    problems: Problems = []
    _checked_object(given, schema, "", problems)
    return tuple(problems)


def _checked_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], place: str, problems: Problems
) -> dict[str, Any]:
    properties = _mapping(schema.get("properties"))
    required = [str(name) for name in _sequence(schema.get("required"))]
    missing = [name for name in required if name not in value]
    unknown = [name for name in value if name not in properties]
    problems += [f"`{place}{name}` is missing" for name in missing]
    if schema.get("additionalProperties") is False:
        problems += [_unknown(name, place, properties, missing) for name in unknown]
    checked: dict[str, Any] = {name: value[name] for name in unknown}
    for name in properties:
        if name in value and not (
            value[name] is None and name not in required and not _takes_null(properties[name])
        ):
            checked[name] = _checked(value[name], _mapping(properties[name]), place + name, problems)
    return {name: checked[name] for name in value if name in checked}


def _unknown(name: str, place: str, properties: Mapping[str, Any], missing: Sequence[str]) -> str:
    import difflib  # ruff: ignore[import-outside-top-level] - only a misspelled input needs it

    candidates = missing or list(properties)
    contained = [other for other in candidates if name and (name in other or other in name)]
    close = contained or difflib.get_close_matches(name, candidates, n=1, cutoff=0.5)
    hint = f", did you mean `{place}{close[0]}`?" if close else f"; known are {_listed(properties)}"
    return f"`{place}{name}` is unknown{hint}"


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _takes_null(schema: object) -> bool:
    types = _types(_mapping(schema))
    return not types or "null" in types


def _checked(value: Any, schema: Mapping[str, Any], place: str, problems: Problems) -> Any:
    types = _types(schema)
    if types:
        fitting = next((fit for name in types if (fit := _fit(value, name)) is not None), None)
        if fitting is None:
            problems.append(f"`{place}` must be {_article(types)}, not {_kind(value)}")
            return value
        value = fitting.value
    choices = _sequence(schema.get("enum"))
    if choices and value not in choices:
        listed = ", ".join(f"`{choice}`" for choice in choices)
        problems.append(f"`{place}` must be one of {listed}, not {value!r}")
    return _checked_parts(value, schema, place, problems)


def _checked_parts(value: Any, schema: Mapping[str, Any], place: str, problems: Problems) -> Any:
    if isinstance(value, Mapping) and "properties" in schema:
        return _checked_object(cast("Mapping[str, Any]", value), schema, f"{place}.", problems)
    if isinstance(value, list) and "items" in schema:
        items, of_item = cast("list[Any]", value), _mapping(schema["items"])
        return [_checked(item, of_item, f"{place}[{i}]", problems) for i, item in enumerate(items)]
    return cast("Any", value)


class _Fit(msgspec.Struct, frozen=True):
    value: Any


def _fit(value: Any, type_name: str) -> _Fit | None:
    """The value as one of that type: itself, or what it says without doubt."""
    fits = KIND_NAMES.get(type_name) == _kind(value) or type_name not in KIND_NAMES
    if fits or (type_name == "number" and _kind(value) == "an integer"):
        return _Fit(value)
    match type_name:
        case "integer":
            return _integer(value)
        case "number" if isinstance(value, str):
            return _number(value)
        case "boolean" if isinstance(value, str):
            word = value.strip().lower()
            return _Fit(BOOLEAN_WORDS[word]) if word in BOOLEAN_WORDS else None
        case "string" if isinstance(value, int | float) and not isinstance(value, bool):
            return _Fit(str(value))
        case _:
            return None


def _integer(value: Any) -> _Fit | None:
    number = _number(value) if isinstance(value, str) else _Fit(value)
    if number is None or isinstance(number.value, bool):
        return None
    if isinstance(number.value, float) and number.value.is_integer():
        return _Fit(int(number.value))
    return number if isinstance(number.value, int) else None


def _number(text: str) -> _Fit | None:
    for read in (int, float):
        try:
            return _Fit(read(text))
        except ValueError:
            continue
    return None


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "an array"


def _article(types: Sequence[str]) -> str:
    return " or ".join(KIND_NAMES.get(name, name) for name in types)


def _types(schema: Mapping[str, Any]) -> list[str]:
    named = schema.get("type")
    return [named] if isinstance(named, str) else [str(name) for name in _sequence(named)]


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _sequence(value: object) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()

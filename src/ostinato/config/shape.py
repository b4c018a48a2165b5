"""What a setting's value may look like: one closed union, from which both the check and the published schema are made.

Promise: a wrong part is left out and named; what is right beside it stays, so that one slip does not lose a deny rule.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias, TypeGuard, assert_never

import msgspec


class Text(msgspec.Struct, frozen=True):
    """A text, not empty; one of `choices` if there are any."""

    choices: tuple[str, ...] = ()


class Whole(msgspec.Struct, frozen=True):
    """A whole number of at least `minimum`."""

    minimum: int


class Amount(msgspec.Struct, frozen=True):
    """A number, not negative."""


class Switch(msgspec.Struct, frozen=True):
    """True or false."""


class Texts(msgspec.Struct, frozen=True):
    """A list of texts. `joins` says whether lists of several files add up; `may_be_one` allows a single text."""

    joins: bool = True
    may_be_one: bool = False


class Variables(msgspec.Struct, frozen=True):
    """Names of environment variables to values; numbers and booleans are read as their text."""


class Hooks(msgspec.Struct, frozen=True):
    """Event to a list of `{matcher?, hooks: [{type, …}]}`; what is inside a handler is left to who runs it."""


class Anything(msgspec.Struct, frozen=True):
    """Kept as it is."""

    kind: Literal["object", "any"] = "any"


class Fields(msgspec.Struct, frozen=True):
    """An object with these keys; others are kept, and `is_closed` reports them."""

    keys: "tuple[Key, ...]"
    is_closed: bool = False


class Named(msgspec.Struct, frozen=True):
    """An object from any name to an object with these keys."""

    fields: Fields


Shape: TypeAlias = Text | Whole | Amount | Switch | Texts | Variables | Hooks | Anything | Fields | Named


class Key(msgspec.Struct, frozen=True):
    """One setting. `is_used` False: read, shown and kept, but nothing acts on it yet.

    `restricts`: it can only take rights away, so a project that nobody trusts yet may set it too.
    """

    name: str
    shape: Shape
    meaning: str
    is_used: bool = True
    restricts: bool = False


class Fault(msgspec.Struct, frozen=True):
    key: str
    what: str
    hint: str = ""


class Nothing(msgspec.Struct, frozen=True):
    """No part of the value can be used."""


NOTHING: Final = Nothing()
Report: TypeAlias = Callable[[Fault], None]


def check(shape: Shape, value: object, key: str, report: Report) -> object | Nothing:
    """What can be used of `value`; each wrong part is reported."""
    match shape:
        case Text() | Whole() | Amount() | Switch():
            return _single(shape, value, key, report)
        case Texts(may_be_one=may_be_one):
            return _texts([value] if may_be_one and isinstance(value, str) else value, key, report)
        case Variables():
            return _variables(value, key, report)
        case Hooks():
            return _hooks(value, key, report)
        case Anything(kind=kind):
            return value if kind == "any" or is_object(value) else _no_object(key, value, report)
        case Fields():
            return check_fields(shape, value, key, report)
        case Named(fields=fields):
            return _named(fields, value, key, report)
        case _:
            assert_never(shape)


def check_fields(shape: Fields, value: object, key: str, report: Report) -> dict[str, object] | Nothing:
    """The object without its wrong parts. A key that differs from a known one only in case is reported, and kept."""
    if not is_object(value):
        return _no_object(key, value, report)
    known = {field.name: field for field in shape.keys}
    by_case = {field.name.casefold(): field.name for field in shape.keys}
    kept: dict[str, object] = {}
    for name, part in value.items():
        where = f"{key}.{name}" if key else name
        field = known.get(name)
        if field is None:
            kept[name] = part
            meant = by_case.get(name.casefold())
            if meant is not None:
                report(Fault(where, "is no key that is known", f"did you mean `{meant}`?"))
            elif shape.is_closed:
                report(Fault(where, "is no key that is known", "known are " + ", ".join(known)))
            continue
        usable = check(field.shape, part, where, report)
        if not isinstance(usable, Nothing):
            kept[name] = usable
    return kept


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _named(fields: Fields, value: object, key: str, report: Report) -> dict[str, object] | Nothing:
    if not is_object(value):
        return _no_object(key, value, report)
    checked = {name: check_fields(fields, part, f"{key}.{name}", report) for name, part in value.items()}
    return {name: part for name, part in checked.items() if not isinstance(part, Nothing)}


def _single(
    shape: Text | Whole | Amount | Switch, value: object, key: str, report: Report
) -> object | Nothing:
    match shape:
        case Text():
            return _text(shape, value, key, report)
        case Whole(minimum=minimum):
            if isinstance(value, int) and not isinstance(value, bool) and value >= minimum:
                return value
            return _wrong(key, f"is not a whole number of at least {minimum}", value, report)
        case Amount():
            if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                return value
            return _wrong(key, "is not a number from 0", value, report)
        case Switch():
            return (
                value if isinstance(value, bool) else _wrong(key, "is not `true` or `false`", value, report)
            )
        case _:
            assert_never(shape)


def _text(shape: Text, value: object, key: str, report: Report) -> str | Nothing:
    if not isinstance(value, str) or not value.strip():
        return _wrong(key, "is not a text", value, report)
    if shape.choices and value not in shape.choices:
        report(Fault(key, "has a value that is not known", "use one of: " + ", ".join(shape.choices)))
        return NOTHING
    return value


def _texts(value: object, key: str, report: Report) -> list[str] | Nothing:
    if not is_list(value):
        return _wrong(key, "is not a list of texts", value, report)
    texts: list[str] = []
    for index, item in enumerate(value):
        if isinstance(item, str) and item.strip():
            texts.append(item)
        else:
            _wrong(f"{key}[{index}]", "is not a text", item, report)
    return texts


def _variables(value: object, key: str, report: Report) -> dict[str, str] | Nothing:
    if not is_object(value):
        return _no_object(key, value, report)
    variables: dict[str, str] = {}
    for name, item in value.items():
        text = item if isinstance(item, str) else _as_text(item)
        if not name or "=" in name or "\0" in name:
            report(Fault(f"{key}.{name}", "is no name for a variable", "take `=` and NUL out of it"))
        elif text is None or "\0" in text:
            _wrong(f"{key}.{name}", "is not a text that a variable can hold", item, report)
        else:
            variables[name] = text
    return variables


def _as_text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None


def _hooks(value: object, key: str, report: Report) -> dict[str, object] | Nothing:
    if not is_object(value):
        return _no_object(key, value, report)
    hooks: dict[str, object] = {}
    for event, groups in value.items():
        if not is_list(groups):
            _wrong(f"{key}.{event}", "is not a list of matchers with hooks", groups, report)
            continue
        usable: list[object] = []
        for index, group in enumerate(groups):
            what = _fault_of_group(group)
            if what:
                report(
                    Fault(f"{key}.{event}[{index}]", what, 'for example {"matcher": "Bash", "hooks": […]}')
                )
            else:
                usable.append(group)
        hooks[event] = usable
    return hooks


def _fault_of_group(group: object) -> str:
    if not is_object(group):
        return "is not an object"
    if not isinstance(group.get("matcher", ""), str):
        return "has a `matcher` that is not a text"
    handlers = group.get("hooks")
    if not is_list(handlers) or not all(
        is_object(handler) and isinstance(handler.get("type"), str) for handler in handlers
    ):
        return "has no list `hooks` of objects with a `type`"
    return ""


def _no_object(key: str, value: object, report: Report) -> Nothing:
    return _wrong(key, "is not an object", value, report)


def _wrong(key: str, what: str, value: object, report: Report) -> Nothing:
    report(Fault(key, what, f"it is {_kind(value)}"))
    return NOTHING


def _kind(value: object) -> str:
    match value:
        case None:
            return "null: leave the key out to say nothing"
        case bool():
            return "`true`" if value else "`false`"
        case str():
            return "a text" if value.strip() else "an empty text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"

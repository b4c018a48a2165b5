"""The parameters of a function as what a model may send: a JSON Schema, and its answer turned into arguments.

Types are those of the standard library, dataclasses, typed dicts, msgspec Structs and pydantic models, one inside the
other; a parameter of type `ToolContext` is not the model's to give. What cannot be sent as JSON is refused by name.
"""

import inspect
import re
import types
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, Final, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from ostinato.errors import UsageError
from ostinato.schema_shape import Schema, plain_schema, without_null
from ostinato.tool import ToolContext

CONSTRAINTS: Final = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")
"""What `Annotated` may say of a value, under the names that msgspec, pydantic and annotated-types share."""

FOR_DEVELOPERS: Final = re.compile(
    r"For further information visit \S+|\[type=\w+, input_value=.*\]$", re.MULTILINE
)
"""What pydantic adds to its sentences."""


class Parameters(msgspec.Struct, frozen=True):
    """`schema` is what the model is told; `type` what its input is converted to; `context_name` who gets the context."""

    schema: Mapping[str, Any]
    type: type[msgspec.Struct]
    context_name: str | None = None

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments of the call, without what was left out. Raises msgspec.ValidationError."""
        value = msgspec.convert(dict(given), self.type, dec_hook=_converted)
        named = {name: getattr(value, name) for name in self.type.__struct_fields__}
        return {name: one for name, one in named.items() if one is not msgspec.UNSET}

    def problem(self, given: Mapping[str, Any]) -> str | None:
        """What is wrong with the input beyond its schema, in one line."""
        try:
            self.arguments(given)
        except msgspec.ValidationError as error:
            said, _, place = str(error).partition(" - at `$.")
            said = " ".join(FOR_DEVELOPERS.sub("", said).split())
            return f"`{place.rstrip('`')}`: {said}" if place else said
        return None


def parameters_of(function: Callable[..., Any], tool_name: str, described: Mapping[str, str]) -> Parameters:
    """`described` has the words for parameters that say nothing themselves. Raises UsageError for what no model can send."""
    signature, hints = _signature(function, tool_name)
    fields: list[Any] = []
    schemas: Schema = {}
    context_name: str | None = None
    for parameter in signature.parameters.values():
        hint = hints.get(parameter.name, parameter.annotation)
        if is_context(hint):
            context_name = parameter.name
            continue
        _check(parameter, hint, tool_name)
        hint = _with_limits(parameter.name, hint, tool_name)
        schemas[parameter.name] = _schema(parameter, hint, tool_name, described.get(parameter.name, ""))
        if parameter.default is inspect.Parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, Union[hint, msgspec.UnsetType], msgspec.UNSET))  # ruff: ignore[non-pep604-annotation-union] - `hint` may be a text or an alias
    required = [field[0] for field in fields if len(field) == 2]
    schema = {"type": "object", "properties": schemas, "required": required, "additionalProperties": False}
    definitions: Schema = {}
    for one in schemas.values():
        definitions |= one.pop("$defs", {})
    if definitions:
        schema["$defs"] = definitions
    made = msgspec.defstruct(
        f"{tool_name}_input", fields, kw_only=True, forbid_unknown_fields=True, frozen=True
    )
    return Parameters(schema, made, context_name)


def is_context(hint: object) -> bool:
    """Whether a parameter of this type gets the call's context."""
    return hint is ToolContext or (
        get_origin(hint) in {Union, types.UnionType} and ToolContext in get_args(hint)
    )


def _signature(
    function: Callable[..., Any], tool_name: str
) -> tuple[inspect.Signature, Mapping[str, object]]:
    try:
        signature = inspect.signature(function)
        hinted = function if hasattr(function, "__annotations__") else type(function).__call__
        return signature, get_type_hints(inspect.unwrap(hinted), include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise UsageError(
            f"the parameters of the tool `{tool_name}` cannot be read: {error}",
            hint="a tool is a function whose types can be found where it is defined; types made inside another function cannot",
        ) from error


def _check(parameter: inspect.Parameter, hint: object, tool_name: str) -> None:
    if parameter.kind not in {parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD}:
        written = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        raise UsageError(
            f"the tool `{tool_name}` has the parameter `{written}{parameter.name}`, which a model cannot give by name",
            hint="name each parameter; for any number of values take a `list[…]` or a `dict[str, …]`",
        )
    if hint is inspect.Parameter.empty:
        about_self = " (for a method, make the tool of `object.method`)" if parameter.name == "self" else ""
        raise UsageError(
            f"the parameter `{parameter.name}` of the tool `{tool_name}` has no type",
            hint=f"write `{parameter.name}: str`, or what else it is{about_self}",
        )


def _schema(parameter: inspect.Parameter, hint: Any, tool_name: str, described: str) -> Schema:
    try:
        (schema,), definitions = msgspec.json.schema_components(
            [hint], schema_hook=_foreign_schema, ref_template="#/$defs/{name}"
        )
        plain = plain_schema(schema, definitions)
    except (TypeError, ValueError, NotImplementedError, KeyError, RecursionError) as error:
        raise _no_json(parameter.name, tool_name, error) from error
    if described and "description" not in _own_words(hint):
        plain["description"] = described
    if parameter.default is not inspect.Parameter.empty:
        plain = _with_default(plain, parameter.default)
    return plain


def _with_limits(name: str, hint: Any, tool_name: str) -> Any:
    try:
        return with_constraints(hint)
    except (TypeError, ValueError) as error:
        raise _no_json(name, tool_name, error) from error


def _no_json(name: str, tool_name: str, error: Exception) -> UsageError:
    return UsageError(
        f"the parameter `{name}` of the tool `{tool_name}` cannot be sent as JSON: {_said(error)}",
        hint="use texts, numbers, lists, dicts, `Literal`, `Enum`, dataclasses, msgspec Structs or pydantic models",
    )


def _own_words(hint: Any) -> Mapping[str, str]:
    """The description that an annotation gives of the parameter itself, if it does: not that of the type behind it."""
    if get_origin(hint) is not Annotated:
        return {}
    for one in get_args(hint)[1:]:
        words = one if isinstance(one, str) else getattr(one, "description", None)
        if isinstance(words, str) and words:
            return {"description": words}
    return {}


def with_constraints(hint: Any) -> Any:
    """The type with what `Annotated` says of it in the one form that the codec reads."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *said = get_args(hint)
    limits: dict[str, Any] = dict(_own_words(hint))
    own: list[Any] = []
    for one in said:
        if isinstance(one, msgspec.Meta):
            own.append(one)
            continue
        for source in (one, *getattr(one, "metadata", ())):
            limits |= {
                name: limit for name in CONSTRAINTS if (limit := getattr(source, name, None)) is not None
            }
    meta = [msgspec.Meta(**limits)] if limits else []
    annotated = kind
    for one in (*own, *meta):
        annotated = Annotated[annotated, one]
    return annotated


def _with_default(schema: Schema, default: object) -> Schema:
    if default is None:
        return without_null(schema)
    try:
        return {**schema, "default": msgspec.to_builtins(default, enc_hook=_plain_default)}
    except (TypeError, ValueError, NotImplementedError):
        return schema  # the function knows its default; the model need not


def _plain_default(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, PurePath):
        return str(value)
    raise NotImplementedError


def _foreign_schema(kind: type) -> Schema:
    """For types that the codec leaves to us: pydantic's models know their own schema."""
    make = getattr(kind, "model_json_schema", None)
    if callable(make):
        return cast("Schema", make(ref_template="#/$defs/{model}"))
    if issubclass(kind, PurePath):
        return {"type": "string"}
    raise NotImplementedError(f"`{kind.__module__}.{kind.__qualname__}` has no form in JSON")


def _converted(kind: type, value: Any) -> Any:
    validate = getattr(kind, "model_validate", None)
    if callable(validate):
        return validate(value)
    if issubclass(kind, PurePath) and isinstance(value, str):
        return (Path if kind is PurePath else kind)(value)
    raise NotImplementedError


def _said(error: Exception) -> str:
    """A library's own advice to programmers of schemas is left out."""
    lines = [line for line in str(error).strip().splitlines() if line]
    return lines[-1] if lines else type(error).__name__

"""Tools that a caller brings, as they can be sent: one with a schema that can be repaired is, and all others are named in one error.

Nothing is left out silently, and no tool takes the others along into a refused request.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, assert_never, cast

from msgspec.structs import replace

from ostinato.errors import UsageError
from ostinato.invariants import TOOL_NAME
from ostinato.tool import CheckInput, Tool
from ostinato.tool_names import fitting_names
from ostinato.tool_schema import Refused, Repaired, Usable, sendable_schema
from ostinato.tool_schema_merge import CHOICES, choice_problem
from ostinato.tool_schema_words import current_words

MAX_SHOWN_CHARACTERS = 100


def admitted(tools: Sequence[Tool], taken: Collection[str] = ()) -> tuple[Tool, ...]:
    """The same tools in their order; `taken` are names of other tools beside them. Raises UsageError that names every wrong one."""
    problems = list(_name_problems([tool.name for tool in tools], taken))
    fit: list[Tool] = []
    for tool in tools:
        outcome = sendable_schema(tool.input_schema)
        match outcome:
            case Usable():
                fit.append(tool)
            case Repaired(schema):
                fit.append(replace(tool, input_schema=schema, validate=_validation(tool)))
            case Refused(why):
                problems.append(f"the schema of the tool `{_shown(tool.name)}` cannot be sent: {why}")
            case _:
                assert_never(outcome)
    _refuse(problems)
    return tuple(fit)


def check_names(tools: Sequence[Tool], taken: Collection[str] = ()) -> None:
    """For tools whose schemas were admitted already. Raises UsageError as `admitted` does."""
    _refuse(list(_name_problems([tool.name for tool in tools], taken)))


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise UsageError(
            "; ".join(problems),
            hint="each tool needs a name of its own of 1 to 64 letters, digits, `_` or `-`, and a JSON Schema of an object",
        )


def _validation(tool: Tool) -> CheckInput:
    """What the tool says itself, and the choices of its own schema, which the repaired one lacks."""
    if not isinstance(cast("object", tool.input_schema), Mapping):
        return tool.validate
    original = current_words(tool.input_schema, [])
    if not original.keys() & {*CHOICES, "$ref"}:
        return tool.validate

    def problem(given: Mapping[str, Any]) -> str | None:
        return choice_problem(original, given) or tool.validate(given)

    return problem


def _name_problems(names: Sequence[str], taken: Collection[str]) -> Iterable[str]:
    seen = set(taken)
    for name, fitting in zip(names, fitting_names(names, taken), strict=True):
        if not TOOL_NAME.fullmatch(name):
            yield f"no provider takes the tool name `{_shown(name)}`: `{fitting}` would be taken"
        elif name in seen:
            whose = "a built-in tool has it" if name in taken else "the name is used twice"
            yield f"the tool name `{name}` is not free, {whose}: `{fitting}` would be"
        seen.add(name)


def _shown(name: str) -> str:
    return name if len(name) <= MAX_SHOWN_CHARACTERS else f"{name[:MAX_SHOWN_CHARACTERS]}…"

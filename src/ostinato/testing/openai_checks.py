"""What both of OpenAI's wires refuse alike, in the same words: names, ids, arguments, schemas, the window, choices without tools.

`where` is the place in the request body as the service writes it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ostinato.testing.wire_json import as_list, as_text
from ostinato.testing.wire_rules import TOOL_NAME, Problem, WireRules, twice

NEED_TOOLS = ("tool_choice", "parallel_tool_calls")


def id_problems(
    where: str, call_id: str, seen: set[str], *, what: str, max_characters: int = 1 << 30
) -> Iterable[Problem]:
    """V2: there, not too long, and no other call's. `seen` takes it in."""
    if not call_id:
        text = f"Invalid '{where}': empty string. Expected a string with minimum length 1, but got an empty string instead."
        yield Problem("V2", text, "empty_string", where)
    elif len(call_id) > max_characters:
        text = f"Invalid '{where}': string too long. Expected a string with maximum length {max_characters}, but got a string with length {len(call_id)} instead."
        yield Problem("V2", text, "string_above_max_length", where)
    elif call_id in seen:
        text = f"Invalid '{where}': '{call_id}' is used by another call. {what} must be unique."
        yield Problem("V2", text, "invalid_value", where)
    seen.add(call_id)


def name_problems(where: str, name: str) -> Iterable[Problem]:
    """V7: a legal name of a tool."""
    if not TOOL_NAME.fullmatch(name):
        text = f"Invalid '{where}': string does not match pattern. Expected a string that matches the pattern '^{TOOL_NAME.pattern}$'."
        yield Problem("V7", text, "invalid_value", where)


def argument_problems(where: str, arguments: object) -> Iterable[Problem]:
    """The arguments of a call are the text of an object."""
    try:
        decoded = msgspec.json.decode(as_text(arguments))
    except msgspec.DecodeError:
        decoded = None
    if not isinstance(decoded, dict):
        text = f"Invalid '{where}': expected a string that holds a JSON object."
        yield Problem("shape", text, "invalid_value", where)


def schema_problems(where: str, name: str, schema: dict[str, Any]) -> Iterable[Problem]:
    """V7: an object at the top level, and nothing but that."""
    if schema.get("type") != "object" or {"anyOf", "oneOf", "allOf"} & schema.keys():
        text = f"Invalid schema for function '{name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf' at the top level."
        yield Problem("V7", text, "invalid_function_parameters", where)


def double_name_problems(names: Sequence[str]) -> Iterable[Problem]:
    """V7: no name twice."""
    for name in twice(names):
        text = f"Invalid 'tools': the function name '{name}' is used twice."
        yield Problem("V7", text, "invalid_value", "tools")


def room_problems(tokens: int, output: int, rules: WireRules, *, where: str, over: str) -> Iterable[Problem]:
    """V6: the input alone, and with the wished output. `over` says the first in the wire's words."""
    if tokens > rules.context_window:
        yield Problem("V6", over, "context_length_exceeded", where)
    elif tokens + output > rules.context_window:
        text = (
            f"This model's maximum context length is {rules.context_window} tokens. However, you requested {tokens + output} "
            f"tokens ({tokens} in the {where}, {output} in the completion). Please reduce the length of the {where} or "
            "completion."
        )
        yield Problem("V6", text, "context_length_exceeded", where)


def choice_problems(body: dict[str, Any]) -> Iterable[Problem]:
    """V8: what is said about tools needs tools."""
    for name in NEED_TOOLS:
        if name in body and not as_list(body.get("tools")):
            text = f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            yield Problem("V8", text, "invalid_value", name)


def data_of(url: str) -> str | None:
    """What a `data:` address holds; None for any other."""
    return url.partition(",")[2] if url.startswith("data:") else None

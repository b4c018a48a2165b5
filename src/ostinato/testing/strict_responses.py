"""What the Responses API refuses with a 400, in its own words: rules V1 to V9 on a request body that keeps nothing there."""

from collections.abc import Iterable, Sequence
from typing import Any

from ostinato.testing.openai_checks import (
    argument_problems,
    choice_problems,
    data_of,
    double_name_problems,
    id_problems,
    name_problems,
    room_problems,
    schema_problems,
)
from ostinato.testing.wire_json import as_dict, as_dicts, as_list, as_text
from ostinato.testing.wire_rules import (
    DEFAULT_RULES,
    Problem,
    WireRules,
    cache_mark_problems,
    estimated_tokens,
    image_problems,
    is_blank,
)

ROLES = frozenset({"user", "assistant", "system", "developer"})
INPUT_PARTS = frozenset({"input_text", "input_image", "input_file"})
OUTPUT_PARTS = frozenset({"output_text", "refusal"})
ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning", "web_search_call"})
MIN_OUTPUT_TOKENS = 16
MAX_CALL_ID_CHARACTERS = 64
MOVED = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "response_format": "text.format",
}
"""Parameters of the Chat wire, and where they went."""

NO_ITEM: dict[str, Any] = {}

Items = Sequence[dict[str, Any]]


def responses_problems(body: dict[str, Any], rules: WireRules = DEFAULT_RULES) -> tuple[str, ...]:
    """The texts of all problems of a Responses request; empty for a legal one."""
    return tuple(problem.message for problem in find_responses_problems(body, rules))


def find_responses_problems(body: dict[str, Any], rules: WireRules = DEFAULT_RULES) -> tuple[Problem, ...]:
    """The same with the rule that each problem breaks."""
    items = items_of(body)
    return (
        *_item_problems(items),
        *_order_problems(items),
        *_pair_problems(items),
        *_call_problems(items),
        *_content_problems(items),
        *_reasoning_problems(body, items),
        *cache_mark_problems(body),
        *_window_problems(body, rules),
        *_tool_problems(as_dicts(body.get("tools"))),
        *_parameter_problems(body, rules),
        *image_problems(_images(items)),
    )


def items_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The input items; a bare string is one message of the user."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return as_dicts(given)


def _type(item: dict[str, Any]) -> str:
    """Messages may leave their type out."""
    return as_text(item.get("type")) or ("message" if "role" in item else "")


# ------------------------------------------------------------------------------------------------ order and pairs


def _item_problems(items: Items) -> Iterable[Problem]:
    for index, item in enumerate(items):
        if _type(item) not in ITEMS:
            text = f"Invalid value: '{_type(item)}'. Supported values are: {_quoted(ITEMS)}."
            yield Problem("shape", text, "invalid_value", f"input[{index}]")
        elif _type(item) == "message" and item.get("role") not in ROLES:
            text = f"Invalid value: '{item.get('role')}'. Supported values are: {_quoted(ROLES)}."
            yield Problem("V3", text, "invalid_value", f"input[{index}].role")


def _order_problems(items: Items) -> Iterable[Problem]:
    if not items:
        text = (
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided."
        )
        yield Problem("V3", text, "missing_required_parameter", "input")
        return
    first = next((item for item in items if item.get("role") not in {"system", "developer"}), NO_ITEM)
    if first.get("role") != "user":
        yield Problem("V3", "Invalid 'input': the conversation must start with the user.", param="input[0]")


def _pair_problems(items: Items) -> Iterable[Problem]:
    """Calls and answers stand together: no message comes between a call and its answer."""
    waiting: list[str] = []
    answered: list[str] = []
    for item in items:
        match _type(item):
            case "function_call":
                if not waiting:
                    answered = []
                waiting.append(as_text(item.get("call_id")))
            case "function_call_output":
                call = as_text(item.get("call_id"))
                if call not in waiting:
                    yield _unexpected_output(call, is_second=call in answered)
                    continue
                waiting.remove(call)
                answered.append(call)
            case "message":
                # The model may speak between two of its calls; anybody else must answer first.
                if item.get("role") != "assistant" or answered:
                    yield from _unanswered(waiting)
                    waiting = []
            case _:
                pass
    yield from _unanswered(waiting)


def _unanswered(waiting: list[str]) -> Iterable[Problem]:
    for call in waiting:
        yield Problem("V1", f"No tool output found for function call {call}.", param="input")


def _unexpected_output(call: str, *, is_second: bool) -> Problem:
    if is_second:
        return Problem("V1", f"Duplicate function call output found for call_id {call}.", param="input")
    text = f"No tool call found for function call output with call_id {call}."
    return Problem("V1", text, param="input")


def _call_problems(items: Items) -> Iterable[Problem]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        if _type(item) != "function_call":
            continue
        call, where = as_text(item.get("call_id")), f"input[{index}]"
        yield from id_problems(
            f"{where}.call_id", call, seen, what="Call ids", max_characters=MAX_CALL_ID_CHARACTERS
        )
        yield from name_problems(f"{where}.name", as_text(item.get("name")))
        yield from argument_problems(f"{where}.arguments", item.get("arguments"))


# ------------------------------------------------------------------------------------------------ content


def _content_problems(items: Items) -> Iterable[Problem]:
    for index, item in enumerate(items):
        match _type(item):
            case "message":
                allowed = OUTPUT_PARTS if item.get("role") == "assistant" else INPUT_PARTS
                yield from _parts_problems(f"input[{index}].content", item.get("content"), allowed)
            case "function_call_output":
                output, where = item.get("output"), f"input[{index}].output"
                # An answer may be empty text, but neither absent nor of blank parts.
                if output is None:
                    yield Problem(
                        "V3", f"Missing required parameter: '{where}'.", "missing_required_parameter", where
                    )
                elif not isinstance(output, str):
                    yield from _parts_problems(where, output, INPUT_PARTS)
            case _:
                pass


def _parts_problems(where: str, content: object, allowed: frozenset[str]) -> Iterable[Problem]:
    if isinstance(content, str):
        if is_blank(content):
            yield _blank(where)
        return
    parts = as_dicts(content)
    if not parts:
        yield Problem(
            "V3",
            f"Invalid '{where}': empty array. Expected an array with minimum length 1.",
            "empty_array",
            where,
        )
    for place, part in enumerate(parts):
        kind = as_text(part.get("type"))
        if kind not in allowed:
            text = f"Invalid value: '{kind}'. Supported values are: {_quoted(allowed)}."
            yield Problem("shape", text, "invalid_value", f"{where}[{place}]")
        elif kind in {"input_text", "output_text"} and is_blank(part.get("text")):
            yield _blank(f"{where}[{place}].text")


def _blank(where: str) -> Problem:
    return Problem("V3", f"Invalid '{where}': text must contain non-whitespace text.", "invalid_value", where)


def _images(items: Items) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for index, item in enumerate(items):
        for key in ("content", "output"):
            for place, part in enumerate(as_dicts(item.get(key))):
                url = as_text(part.get("image_url"))
                if (data := data_of(url)) is not None:
                    found.append((f"input[{index}].{key}[{place}].image_url", data))
    return found


def _reasoning_problems(body: dict[str, Any], items: Items) -> Iterable[Problem]:
    """V4: reasoning comes back whole, sealed, and before what it led to."""
    for index, item in enumerate(items):
        if _type(item) != "reasoning":
            continue
        name = as_text(item.get("id"))
        if not item.get("encrypted_content"):
            text = (
                f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. Try again with "
                "`store` set to true, or remove this item from your input."
            )
            yield Problem("V4", text, param="input")
        if not isinstance(item.get("summary"), list):
            where = f"input[{index}].summary"
            yield Problem(
                "V4", f"Missing required parameter: '{where}'.", "missing_required_parameter", where
            )
        following = next((one for one in items[index + 1 :] if _type(one) != "reasoning"), NO_ITEM)
        leads = _type(following) in {"function_call", "web_search_call"}
        if not (leads or following.get("role") == "assistant"):
            text = f"Item '{name}' of type 'reasoning' was provided without its required following item."
            yield Problem("V4", text, param="input")
    if body.get("store") is not False and "reasoning.encrypted_content" in as_list(body.get("include")):
        text = "Encrypted content is only returned when `store` is set to false."
        yield Problem("V8", text, "invalid_value", "include")


# ------------------------------------------------------------------------------------------------ limits, tools, parameters


def _window_problems(body: dict[str, Any], rules: WireRules) -> Iterable[Problem]:
    asked = body.get("max_output_tokens", 0)
    output = asked if isinstance(asked, int) else 0
    where = "max_output_tokens"
    if output > rules.max_output_tokens:
        text = f"Invalid '{where}': integer above maximum value. Expected a value <= {rules.max_output_tokens}, but got {output} instead."
        yield Problem("V6", text, "integer_above_max_value", where)
    if where in body and output < MIN_OUTPUT_TOKENS:
        text = f"Invalid '{where}': integer below minimum value. Expected a value >= {MIN_OUTPUT_TOKENS}, but got {output} instead."
        yield Problem("V6", text, "integer_below_min_value", where)
    tokens = estimated_tokens(body.get("instructions"), body.get("input"), body.get("tools"))
    over = "Your input exceeds the context window of this model. Please adjust your input and try again."
    yield from room_problems(tokens, output, rules, where="input", over=over)


def _tool_problems(tools: Items) -> Iterable[Problem]:
    own = [tool for tool in tools if tool.get("type") != "web_search"]
    for place, tool in enumerate(own):
        where, name = f"tools[{place}]", as_text(tool.get("name"))
        if "name" not in tool:
            yield Problem(
                "V7",
                f"Missing required parameter: '{where}.name'.",
                "missing_required_parameter",
                f"{where}.name",
            )
        else:
            yield from name_problems(f"{where}.name", name)
        yield from _schema_problems(
            where, name, as_dict(tool.get("parameters")), is_strict=tool.get("strict") is not False
        )
    yield from double_name_problems([as_text(tool.get("name")) for tool in own])


def _schema_problems(where: str, name: str, schema: dict[str, Any], *, is_strict: bool) -> Iterable[Problem]:
    code, param = "invalid_function_parameters", f"{where}.parameters"
    wrong = tuple(schema_problems(param, name, schema))
    if wrong:
        yield from wrong
    elif is_strict and schema.get("additionalProperties") is not False:
        text = f"Invalid schema for function '{name}': In context=(), 'additionalProperties' is required to be supplied and to be false."
        yield Problem("V7", text, code, param)
    elif is_strict and set(as_list(schema.get("required"))) != as_dict(schema.get("properties")).keys():
        text = f"Invalid schema for function '{name}': In context=(), 'required' is required to be supplied and to be an array including every key in properties."
        yield Problem("V7", text, code, param)


def _parameter_problems(body: dict[str, Any], rules: WireRules) -> Iterable[Problem]:
    for name, place in MOVED.items():
        if name in body:
            text = f"Unsupported parameter: '{name}'. In the Responses API, this parameter has moved to '{place}'."
            yield Problem("V8", text, "unsupported_parameter", name)
    if "temperature" in body and not rules.takes_temperature:
        text = "Unsupported parameter: 'temperature' is not supported with this model."
        yield Problem("V8", text, "unsupported_parameter", "temperature")
    yield from choice_problems(body)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))

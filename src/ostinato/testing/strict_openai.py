"""What the Chat Completions API (and the compatible servers) refuse with a 400: rules V1 to V9 on a request body."""

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

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
INSTRUCTIONS = frozenset({"system", "developer"})

Messages = Sequence[dict[str, Any]]


def openai_problems(body: dict[str, Any], rules: WireRules = DEFAULT_RULES) -> tuple[str, ...]:
    """The texts of all problems of a Chat Completions request; empty for a legal one."""
    return tuple(problem.message for problem in find_openai_problems(body, rules))


def find_openai_problems(body: dict[str, Any], rules: WireRules = DEFAULT_RULES) -> tuple[Problem, ...]:
    """The same with the rule that each problem breaks."""
    messages = as_dicts(body.get("messages"))
    return (
        *_role_problems(messages),
        *_pair_problems(messages),
        *_call_problems(messages),
        *_content_problems(messages),
        *_reasoning_problems(messages, rules),
        *cache_mark_problems(body),
        *_window_problems(body, rules),
        *_tool_problems(as_dicts(body.get("tools"))),
        *_parameter_problems(body, rules),
        *image_problems(_images(messages)),
    )


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    return as_dicts(message.get("tool_calls")) if message.get("role") == "assistant" else []


def _role_problems(messages: Messages) -> Iterable[Problem]:
    roles = [as_text(message.get("role")) for message in messages]
    for index, role in enumerate(roles):
        if role not in ROLES:
            text = f"Invalid value: '{role}'. Supported values are: {', '.join(sorted(ROLES))}."
            yield Problem("V3", text, "invalid_value", f"messages[{index}].role")
    spoken = [role for role in roles if role not in INSTRUCTIONS]
    if not spoken:
        yield Problem("V3", "Invalid 'messages': at least one user message is required.", param="messages")
    elif spoken[0] == "assistant":
        text = "Conversation roles must start with user: the first message after the system messages is the assistant's."
        yield Problem("V3", text, param="messages")
    if roles[: len(roles) - len(spoken)] != [role for role in roles if role in INSTRUCTIONS]:
        yield Problem("V3", "System message must be at the beginning.", param="messages")


def _pair_problems(messages: Messages) -> Iterable[Problem]:
    waiting: list[str] = []
    answered: list[str] = []
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            call = as_text(message.get("tool_call_id"))
            if call in waiting:
                waiting.remove(call)
                answered.append(call)
                continue
            yield _unexpected_result(index, call, is_second=call in answered)
            continue
        yield from _unanswered(index, waiting)
        waiting = [as_text(call.get("id")) for call in _calls(message)]
        answered = []
    yield from _unanswered(len(messages), waiting)


def _unanswered(index: int, waiting: list[str]) -> Iterable[Problem]:
    if waiting:
        text = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}"
        )
        yield Problem("V1", text, param=f"messages.[{index}].role")


def _unexpected_result(index: int, call: str, *, is_second: bool) -> Problem:
    what = f" Duplicate response for tool_call_id '{call}'." if is_second else ""
    text = "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
    return Problem("V1", text + what, param=f"messages.[{index}].role")


def _call_problems(messages: Messages) -> Iterable[Problem]:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for place, call in enumerate(_calls(message)):
            where = f"messages[{index}].tool_calls[{place}]"
            yield from id_problems(f"{where}.id", as_text(call.get("id")), seen, what="Tool call ids")
            function = as_dict(call.get("function"))
            yield from name_problems(f"{where}.function.name", as_text(function.get("name")))
            yield from argument_problems(f"{where}.function.arguments", function.get("arguments"))


def _content_problems(messages: Messages) -> Iterable[Problem]:
    for index, message in enumerate(messages):
        content, where = message.get("content"), f"messages[{index}].content"
        if message.get("role") == "tool":
            yield from _result_content_problems(where, content)
        elif content is None or content == []:
            if not _calls(message):
                text = f"Invalid value for 'content': expected a string, got {'null' if content is None else '[]'}."
                yield Problem("V3", text, "invalid_type", where)
        else:
            yield from _blank_problems(where, content, may_be_empty=bool(_calls(message)))


def _result_content_problems(where: str, content: object) -> Iterable[Problem]:
    """A result may be empty text, but its parts may not be blank."""
    if content is None:
        yield Problem("V3", f"Invalid '{where}': expected a string, got null.", "invalid_type", where)
    elif not isinstance(content, str):
        yield from _blank_problems(where, content, may_be_empty=False)


def _blank_problems(where: str, content: object, *, may_be_empty: bool) -> Iterable[Problem]:
    texts = [content] if isinstance(content, str) else _part_texts(content)
    for text in texts:
        if is_blank(text) and not (may_be_empty and content == ""):
            message = f"Invalid '{where}': text content must contain non-whitespace text."
            yield Problem("V3", message, "invalid_value", where)


def _part_texts(content: object) -> list[str]:
    return [as_text(part.get("text")) for part in as_dicts(content) if part.get("type") == "text"]


def _reasoning_problems(messages: Messages, rules: WireRules) -> Iterable[Problem]:
    for index, message in enumerate(messages):
        where = f"messages[{index}].reasoning_content"
        if rules.reasoning_content == "required" and _calls(message) and "reasoning_content" not in message:
            text = f"Missing '{where}': the reasoning must be passed back with its tool calls."
            yield Problem("V4", text, "missing_required_parameter", where)
        if rules.reasoning_content == "refused" and "reasoning_content" in message:
            yield Problem("V4", f"Unrecognized '{where}'.", "unknown_parameter", where)


def _window_problems(body: dict[str, Any], rules: WireRules) -> Iterable[Problem]:
    asked = body.get("max_completion_tokens", body.get("max_tokens", 0))
    output = asked if isinstance(asked, int) else 0
    tokens = estimated_tokens(body.get("messages"), body.get("tools"))
    if output > rules.max_output_tokens:
        text = f"max_tokens is too large: {output}. This model supports at most {rules.max_output_tokens} completion tokens."
        yield Problem("V6", text, "invalid_value", "max_tokens")
    over = (
        f"This model's maximum context length is {rules.context_window} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    )
    yield from room_problems(tokens, output, rules, where="messages", over=over)


def _tool_problems(tools: list[dict[str, Any]]) -> Iterable[Problem]:
    names = [as_text(as_dict(tool.get("function")).get("name")) for tool in tools]
    for place, (tool, name) in enumerate(zip(tools, names, strict=True)):
        schema = as_dict(as_dict(tool.get("function")).get("parameters"))
        where = f"tools[{place}].function"
        yield from name_problems(f"{where}.name", name)
        yield from schema_problems(f"{where}.parameters", name, schema)
    yield from double_name_problems(names)


def _parameter_problems(body: dict[str, Any], rules: WireRules) -> Iterable[Problem]:
    if "temperature" in body and not rules.takes_temperature and body["temperature"] != 1:
        text = f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. Only the default (1) value is supported."
        yield Problem("V8", text, "unsupported_value", "temperature")
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body and rules.output_parameter not in {None, name}:
            text = f"Unsupported parameter: '{name}' is not supported with this model. Use '{rules.output_parameter}' instead."
            yield Problem("V8", text, "unsupported_parameter", name)
    if "tools" in body and not as_list(body["tools"]):
        yield Problem("V8", "[] is too short - 'tools'", "invalid_value", "tools")
    yield from choice_problems(body)


def _images(messages: Messages) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for index, message in enumerate(messages):
        for place, part in enumerate(as_dicts(message.get("content"))):
            url = as_text(as_dict(part.get("image_url")).get("url"))
            if (data := data_of(url)) is not None:
                found.append((f"messages[{index}].content[{place}].image_url", data))
    return found

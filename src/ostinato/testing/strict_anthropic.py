"""What the Anthropic Messages API refuses with a 400, in its own words: rules V1 to V9 on a request body."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ostinato.testing.issued_thinking import THINKING
from ostinato.testing.wire_json import as_dict, as_dicts, as_list, as_text
from ostinato.testing.wire_rules import (
    DEFAULT_RULES,
    TOOL_NAME,
    Problem,
    WireRules,
    cache_mark_problems,
    estimated_tokens,
    image_problems,
    is_blank,
    twice,
)

CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
MIN_THINKING_TOKENS = 1024
USER_BLOCKS = frozenset({"text", "image", "document", "tool_result", "search_result"})
SEARCH_TOOL = "web_search_20250305"
ASSISTANT_BLOCKS = frozenset({"text", "tool_use", "server_tool_use", "web_search_tool_result"}) | THINKING

Blocks = list[dict[str, Any]]


def anthropic_problems(body: dict[str, Any], rules: WireRules = DEFAULT_RULES) -> tuple[str, ...]:
    """The texts of all problems of a Messages request; empty for a legal one."""
    return tuple(problem.message for problem in find_anthropic_problems(body, rules))


def find_anthropic_problems(body: dict[str, Any], rules: WireRules = DEFAULT_RULES) -> tuple[Problem, ...]:
    """The same with the rule that each problem breaks."""
    messages = as_dicts(body.get("messages"))
    contents = [_blocks(message.get("content")) for message in messages]
    return (
        *_role_problems(messages),
        *_pair_problems(contents),
        *_search_problems(contents),
        *_call_id_problems(contents),
        *_content_problems(body, messages, contents),
        *_thinking_problems(body, messages, contents),
        *cache_mark_problems(body),
        *_window_problems(body, rules),
        *_tool_problems(as_dicts(body.get("tools"))),
        *_parameter_problems(body, contents, rules),
        *image_problems(_images(contents)),
    )


def _blocks(content: object) -> Blocks:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_dicts(content)


def _of_type(blocks: Blocks, kind: str) -> Blocks:
    return [block for block in blocks if block.get("type") == kind]


def _ids(blocks: Blocks, kind: str, key: str) -> list[str]:
    return [as_text(block.get(key)) for block in _of_type(blocks, kind)]


# ------------------------------------------------------------------------------------------------ roles and pairs


def _role_problems(messages: Sequence[dict[str, Any]]) -> Iterable[Problem]:
    if not messages:
        yield Problem("V3", "messages: at least one message is required")
        return
    roles = [message.get("role") for message in messages]
    for index, role in enumerate(roles):
        if role not in {"user", "assistant"}:
            yield Problem("V3", f'messages.{index}.role: Input should be "user" or "assistant"')
        elif index and roles[index - 1] == role:
            text = (
                f'messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles'
                " in a row"
            )
            yield Problem("V3", text)
    if roles[0] == "assistant":
        yield Problem("V3", 'messages: first message must use the "user" role')


def _search_problems(contents: Sequence[Blocks]) -> Iterable[Problem]:
    """A search and what it found stand in one message; only in a reply that goes on the last one still waits."""
    for index, blocks in enumerate(contents):
        calls = _ids(blocks, "server_tool_use", "id")
        found: list[str] = []
        for block in blocks:
            if block.get("type") == "web_search_tool_result":
                answered = as_text(block.get("tool_use_id"))
                if answered in found or answered not in calls:
                    text = f"messages.{index}: unexpected `tool_use_id` found in `web_search_tool_result` blocks: {answered}."
                    yield Problem("V1", text)
                found.append(answered)
        waiting = [call for call in calls if call not in found]
        allowed = calls[-1:] if index == len(contents) - 1 else []
        if waiting and waiting != allowed:
            text = (
                f"messages.{index}: `web_search` tool use with id `{waiting[0]}` was found without a corresponding "
                "`web_search_tool_result` block"
            )
            yield Problem("V1", text)


def _pair_problems(contents: Sequence[Blocks]) -> Iterable[Problem]:
    for index, blocks in enumerate(contents):
        following = contents[index + 1] if index + 1 < len(contents) else []
        leading = _leading_results(following)
        unanswered = [call for call in _ids(blocks, "tool_use", "id") if call not in leading]
        if unanswered:
            text = (
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(unanswered)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
            yield Problem("V1", text)
        calls = _ids(contents[index - 1], "tool_use", "id") if index else []
        yield from _result_problems(index, blocks, calls)


def _leading_results(blocks: Blocks) -> list[str]:
    """Results that come before anything else; later ones do not count as answers."""
    ids: list[str] = []
    for block in blocks:
        if block.get("type") != "tool_result":
            break
        ids.append(as_text(block.get("tool_use_id")))
    return ids


def _result_problems(index: int, blocks: Blocks, calls: list[str]) -> Iterable[Problem]:
    results = _ids(blocks, "tool_result", "tool_use_id")
    for place, block in enumerate(blocks):
        answered = as_text(block.get("tool_use_id"))
        if block.get("type") == "tool_result" and answered not in calls:
            text = (
                f"messages.{index}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {answered}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
            yield Problem("V1", text)
    for doubled in twice(results):
        text = (
            f"messages.{index}.content: each tool_use must have a single result. Found multiple `tool_result` blocks "
            f"with id: {doubled}"
        )
        yield Problem("V1", text)


def _call_id_problems(contents: Sequence[Blocks]) -> Iterable[Problem]:
    seen: set[str] = set()
    for index, blocks in enumerate(contents):
        for call in _ids(blocks, "tool_use", "id"):
            where = f"messages.{index}.content.tool_use.id"
            if not CALL_ID.fullmatch(call):
                yield Problem("V2", f"{where}: String should match pattern '^{CALL_ID.pattern}$'")
            elif call in seen:
                yield Problem("V2", f"messages.{index}.content: `tool_use` ids must be unique")
            seen.add(call)


# ------------------------------------------------------------------------------------------------ content


def _content_problems(
    body: dict[str, Any], messages: Sequence[dict[str, Any]], contents: Sequence[Blocks]
) -> Iterable[Problem]:
    yield from _text_problems("system", _blocks(body.get("system") or []))
    for index, (message, blocks) in enumerate(zip(messages, contents, strict=True)):
        if not blocks:
            text = (
                f"messages.{index}: all messages must have non-empty content except for the optional final assistant "
                "message"
            )
            yield Problem("V3", text)
        yield from _text_problems(f"messages.{index}.content", blocks)
        yield from _kind_problems(index, message, blocks)
        for place, block in enumerate(blocks):
            yield from _block_problems(f"messages.{index}.content.{place}", block)


def _text_problems(where: str, blocks: Blocks) -> Iterable[Problem]:
    for place, block in enumerate(blocks):
        if block.get("type") != "text":
            continue
        if not block.get("text"):
            yield Problem("V3", f"{where}.{place}: text content blocks must be non-empty")
        elif is_blank(block["text"]):
            yield Problem("V3", f"{where}.{place}: text content blocks must contain non-whitespace text")


def _kind_problems(index: int, message: dict[str, Any], blocks: Blocks) -> Iterable[Problem]:
    allowed = USER_BLOCKS if message.get("role") == "user" else ASSISTANT_BLOCKS
    for place, block in enumerate(blocks):
        if block.get("type") not in allowed:
            expected = ", ".join(sorted(allowed))
            text = f"messages.{index}.content.{place}: Input tag '{block.get('type')}' found using 'type' does not match any of the expected tags: {expected}"
            yield Problem("shape", text)


def _block_problems(where: str, block: dict[str, Any]) -> Iterable[Problem]:
    if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
        yield Problem("shape", f"{where}.tool_use.input: Input should be a valid dictionary")
    if block.get("type") == "tool_result":
        inside = as_dicts(block.get("content"))
        yield from _text_problems(f"{where}.tool_result.content", inside)
        if block.get("is_error") and any(one.get("type") != "text" for one in inside):
            text = f'{where}.tool_result.content: all content must be type "text" if `is_error` is true'
            yield Problem("shape", text)


def _images(contents: Sequence[Blocks]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for index, blocks in enumerate(contents):
        for place, block in enumerate(blocks):
            nested = as_dicts(block.get("content"))
            for image in _of_type([block, *nested], "image"):
                where = f"messages.{index}.content.{place}.image.source.base64.data"
                found.append((where, as_text(as_dict(image.get("source")).get("data"))))
    return found


# ------------------------------------------------------------------------------------------------ thinking


def _thinking_problems(
    body: dict[str, Any], messages: Sequence[dict[str, Any]], contents: Sequence[Blocks]
) -> Iterable[Problem]:
    for index, blocks in enumerate(contents):
        for place, block in enumerate(blocks):
            if block.get("type") == "thinking" and not block.get("signature"):
                yield Problem("V4", f"messages.{index}.content.{place}.thinking.signature: Field required")
            if block.get("type") in THINKING and "cache_control" in block:
                yield Problem(
                    "V5", f"messages.{index}.content.{place}: cache_control cannot be set for thinking"
                )
        if blocks and messages[index].get("role") == "assistant" and blocks[-1].get("type") in THINKING:
            text = f"messages.{index}: The final block in an assistant message cannot be `thinking`."
            yield Problem("V4", text)
    if as_dict(body.get("thinking")).get("type") == "enabled":
        yield from _loop_thinking_problems(contents)


def _loop_thinking_problems(contents: Sequence[Blocks]) -> Iterable[Problem]:
    """Inside a tool loop with manual thinking, the assistant message must begin with its thinking."""
    index = len(contents) - 2
    if index < 0 or not _of_type(contents[-1], "tool_result") or not contents[index]:
        return
    first = contents[index][0].get("type")
    if first not in THINKING:
        text = (
            f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block."
        )
        yield Problem("V4", text)


# ------------------------------------------------------------------------------------------------ limits, tools, parameters


def _window_problems(body: dict[str, Any], rules: WireRules) -> Iterable[Problem]:
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or limit < 1:
        yield Problem("shape", "max_tokens: Field required")
        return
    if limit > rules.max_output_tokens:
        text = (
            f"max_tokens: {limit} > {rules.max_output_tokens}, which is the maximum allowed number of output tokens for "
            f"{body.get('model')}"
        )
        yield Problem("V6", text)
    tokens = estimated_tokens(body.get("system"), body.get("messages"), body.get("tools"))
    if tokens > rules.context_window:
        yield Problem("V6", f"prompt is too long: {tokens} tokens > {rules.context_window} maximum")
    elif tokens + limit > rules.context_window:
        text = (
            f"input length and `max_tokens` exceed context limit: {tokens} + {limit} > {rules.context_window}, decrease "
            "input length or `max_tokens` and try again"
        )
        yield Problem("V6", text)


def _tool_problems(tools: Blocks) -> Iterable[Problem]:
    for place, tool in enumerate(tools):
        if tool.get("type") == SEARCH_TOOL:
            if tool.get("name") != "web_search":
                yield Problem("V7", f"tools.{place}.{SEARCH_TOOL}.name: Input should be 'web_search'")
            continue
        where, schema = f"tools.{place}.custom", as_dict(tool.get("input_schema"))
        if not TOOL_NAME.fullmatch(as_text(tool.get("name"))):
            yield Problem("V7", f"{where}.name: String should match pattern '^{TOOL_NAME.pattern}$'")
        if schema.get("type") != "object":
            yield Problem("V7", f"{where}.input_schema.type: Input should be 'object'")
        if {"anyOf", "oneOf", "allOf"} & schema.keys():
            text = (
                f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            )
            yield Problem("V7", text)
    if twice([as_text(tool.get("name")) for tool in tools]):
        yield Problem("V7", "tools: Tool names must be unique.")


def _parameter_problems(
    body: dict[str, Any], contents: Sequence[Blocks], rules: WireRules
) -> Iterable[Problem]:
    thinks = as_dict(body.get("thinking")).get("type") == "enabled"
    if "temperature" in body and not rules.takes_temperature:
        yield Problem("V8", "`temperature` is not supported for this model.", param="temperature")
    if "tool_choice" in body and not as_list(body.get("tools")):
        yield Problem("V8", "tool_choice: tool_choice may only be specified while providing tools.")
    if not as_list(body.get("tools")) and any(_of_type(blocks, "tool_use") for blocks in contents):
        text = "Requests which include `tool_use` or `tool_result` blocks must define tools."
        yield Problem("V8", text)
    if thinks:
        yield from _thinking_parameter_problems(body)


def _thinking_parameter_problems(body: dict[str, Any]) -> Iterable[Problem]:
    budget = as_dict(body.get("thinking")).get("budget_tokens")
    limit = body.get("max_tokens")
    if body.get("temperature", 1) != 1:
        yield Problem("V8", "`temperature` may only be set to 1 when thinking is enabled.")
    if as_dict(body.get("tool_choice")).get("type") in {"any", "tool"}:
        yield Problem("V8", "Thinking may not be enabled when tool_choice forces tool use.")
    if not isinstance(budget, int) or budget < MIN_THINKING_TOKENS:
        text = (
            f"thinking.enabled.budget_tokens: Input should be greater than or equal to {MIN_THINKING_TOKENS}"
        )
        yield Problem("V8", text)
    elif isinstance(limit, int) and limit <= budget:
        yield Problem("V8", "`max_tokens` must be greater than `thinking.budget_tokens`.")

"""Each rule of the Messages wire has a legal body beside it and refuses its own break, in the provider's words."""

import base64
import struct
from typing import Any

import pytest

from ostinato.testing import WireRules, anthropic_problems, find_anthropic_problems
from ostinato.testing.issued_thinking import IssuedThinking

Body = dict[str, Any]
TOOL: Body = {"name": "Read", "description": "reads", "input_schema": {"type": "object"}}
CALL: Body = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
RESULT: Body = {"type": "tool_result", "tool_use_id": "t1", "content": "text"}
THOUGHT: Body = {"type": "thinking", "thinking": "hm", "signature": "sig"}
MARK: Body = {"cache_control": {"type": "ephemeral"}}
SAY: Body = {"type": "text", "text": "go on"}


def user(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def body(*messages: Body, **parameters: object) -> Body:
    said = list(messages) or [user(SAY)]
    return {"model": "m", "max_tokens": 1000, "messages": said, "tools": [TOOL], **parameters}


def png(width: int, height: int) -> Body:
    head = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", width, height)
    data = base64.b64encode(head).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def rules_broken(request: Body, rules: WireRules | None = None) -> set[str]:
    return {problem.rule for problem in find_anthropic_problems(request, rules or WireRules())}


LEGAL = {
    "one prompt": body(user(SAY)),
    "text in place of blocks": body({"role": "user", "content": "hello"}),
    "a call and its result, with text after": body(user(SAY), assistant(SAY, CALL), user(RESULT, SAY)),
    "an empty result": body(user(SAY), assistant(CALL), user({**RESULT, "content": ""})),
    "signed thinking": body(user(SAY), assistant(THOUGHT, CALL), user(RESULT), thinking={"type": "adaptive"}),
    "four marks": body(user({**SAY, **MARK}, {**SAY, **MARK}, {**SAY, **MARK}), system=[{**SAY, **MARK}]),
    "the last word is the assistant's": body(user(SAY), assistant(SAY)),
    "21 small images": body(user(*[png(2000, 10)] * 21)),
    "one large image": body(user(png(8000, 10))),
    "thinking with room": body(
        user(SAY), thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=2000
    ),
}


@pytest.mark.parametrize("request_body", LEGAL.values(), ids=LEGAL.keys())
def test_a_legal_request_has_no_problem(request_body: Body) -> None:
    assert anthropic_problems(request_body) == ()


ILLEGAL: dict[str, tuple[str, Body]] = {
    "V1 no result": ("V1", body(user(SAY), assistant(CALL), user(SAY))),
    "V1 no result at the end": ("V1", body(user(SAY), assistant(CALL))),
    "V1 a result too late": ("V1", body(user(SAY), assistant(CALL), user(SAY), assistant(SAY), user(RESULT))),
    "V1 a result without a call": ("V1", body(user(RESULT))),
    "V1 two results for one call": ("V1", body(user(SAY), assistant(CALL), user(RESULT, RESULT))),
    "V1 text before the result": ("V1", body(user(SAY), assistant(CALL), user(SAY, RESULT))),
    "V2 an empty id": (
        "V2",
        body(user(SAY), assistant({**CALL, "id": ""}), user({**RESULT, "tool_use_id": ""})),
    ),
    "V2 an id with a space": (
        "V2",
        body(user(SAY), assistant({**CALL, "id": "a b"}), user({**RESULT, "tool_use_id": "a b"})),
    ),
    "V2 one id twice": ("V2", body(user(SAY), assistant(CALL, CALL), user(RESULT))),
    "V2 one id in two replies": (
        "V2",
        body(user(SAY), assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)),
    ),
    "V3 no message": ("V3", {**body(), "messages": []}),
    "V3 the assistant first": ("V3", body(assistant(SAY), user(SAY))),
    "V3 two users in a row": ("V3", body(user(SAY), user(SAY))),
    "V3 an unknown role": ("V3", body(user(SAY), {"role": "system", "content": "x"})),
    "V3 empty content": ("V3", body(user())),
    "V3 empty text": ("V3", body(user({"type": "text", "text": ""}))),
    "V3 blank text": ("V3", body(user({"type": "text", "text": " \n\t\u00a0"}))),
    "V3 blank system": ("V3", body(user(SAY), system=" ")),
    "V3 blank text in a result": (
        "V3",
        body(user(SAY), assistant(CALL), user({**RESULT, "content": [{"type": "text", "text": " "}]})),
    ),
    "V4 thinking without signature": (
        "V4",
        body(user(SAY), assistant({**THOUGHT, "signature": ""}, SAY), user(SAY)),
    ),
    "V4 thinking last": ("V4", body(user(SAY), assistant(SAY, THOUGHT), user(SAY))),
    "V4 thinking missing in a loop": (
        "V4",
        body(
            user(SAY),
            assistant(CALL),
            user(RESULT),
            thinking={"type": "enabled", "budget_tokens": 1024},
            max_tokens=2000,
        ),
    ),
    "V5 five marks": ("V5", body(user(*[{**SAY, **MARK}] * 4), system=[{**SAY, **MARK}])),
    "V5 a mark on thinking": ("V5", body(user(SAY), assistant({**THOUGHT, **MARK}, SAY), user(SAY))),
    "V6 output above the model's": ("V6", body(max_tokens=64_001)),
    "V7 a name with a space": ("V7", body(tools=[{**TOOL, "name": "my tool"}])),
    "V7 a long name": ("V7", body(tools=[{**TOOL, "name": "x" * 65}])),
    "V7 one name twice": ("V7", body(tools=[TOOL, TOOL])),
    "V7 a schema of another type": ("V7", body(tools=[{**TOOL, "input_schema": {"type": "string"}}])),
    "V7 oneOf at the top": (
        "V7",
        body(tools=[{**TOOL, "input_schema": {"type": "object", "oneOf": [TOOL]}}]),
    ),
    "V8 a forced tool with thinking": (
        "V8",
        body(
            thinking={"type": "enabled", "budget_tokens": 1024},
            max_tokens=2000,
            tool_choice={"type": "any"},
        ),
    ),
    "V8 a temperature with thinking": (
        "V8",
        body(thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=2000, temperature=0),
    ),
    "V8 no room beside the thinking": ("V8", body(thinking={"type": "enabled", "budget_tokens": 1024})),
    "V8 too small a thinking budget": ("V8", body(thinking={"type": "enabled", "budget_tokens": 10})),
    "V8 a tool choice without tools": ("V8", body(tools=[], tool_choice={"type": "auto"})),
    "V8 calls without tools": ("V8", body(user(SAY), assistant(CALL), user(RESULT), tools=[])),
    "V9 a huge image": ("V9", body(user(png(8001, 10)))),
    "V9 a large image among many": ("V9", body(user(*[png(10, 10)] * 20, png(10, 2001)))),
    "V9 a huge image in a result": (
        "V9",
        body(user(SAY), assistant(CALL), user({**RESULT, "content": [png(8001, 10)]})),
    ),
    "no max_tokens": ("shape", {key: value for key, value in body().items() if key != "max_tokens"}),
    "a call from the user": ("shape", body(user(SAY, CALL), assistant(SAY))),
    "arguments that are text": ("shape", body(user(SAY), assistant({**CALL, "input": "{}"}), user(RESULT))),
    "an image in an error result": (
        "shape",
        body(user(SAY), assistant(CALL), user({**RESULT, "is_error": True, "content": [png(1, 1)]})),
    ),
}


@pytest.mark.parametrize(("rule", "request_body"), ILLEGAL.values(), ids=ILLEGAL.keys())
def test_a_break_is_found_under_its_rule(rule: str, request_body: Body) -> None:
    assert rule in rules_broken(request_body)


def test_the_window_holds_prompt_and_output() -> None:
    small = WireRules(context_window=2000)
    assert rules_broken(body(user({"type": "text", "text": "x" * 2000})), small) == set()
    assert anthropic_problems(body(user({"type": "text", "text": "x" * 40_000})), small)[0].startswith(
        "prompt is too long: "
    )
    assert (
        "exceed context limit"
        in anthropic_problems(body(user({"type": "text", "text": "x" * 6000})), small)[0]
    )


def test_a_model_may_refuse_a_temperature() -> None:
    assert rules_broken(body(temperature=0.5), WireRules(takes_temperature=False)) == {"V8"}


def test_the_missing_result_is_named_as_the_provider_names_it() -> None:
    (problem,) = anthropic_problems(body(user(SAY), assistant(CALL), user(SAY)))
    assert problem.startswith(
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1."
    )


def issued() -> IssuedThinking:
    memory = IssuedThinking()
    memory.remember([THOUGHT, {**THOUGHT, "thinking": "more", "signature": "sig2"}, CALL])
    return memory


@pytest.mark.parametrize(
    "blocks",
    [
        (THOUGHT, {**THOUGHT, "thinking": "more", "signature": "sig2"}, CALL),
        (CALL,),
        ({**THOUGHT, "signature": "of another session"}, SAY),
    ],
    ids=["whole", "absent", "unknown"],
)
def test_issued_thinking_may_come_back_whole_or_not_at_all(blocks: tuple[Body, ...]) -> None:
    assert list(issued().problems([user(SAY), assistant(*blocks)])) == []


@pytest.mark.parametrize(
    "blocks",
    [
        (THOUGHT, CALL),
        ({**THOUGHT, "thinking": "hm!"}, SAY),
        ({**THOUGHT, "thinking": "more", "signature": "sig2"}, THOUGHT, CALL),
    ],
    ids=["half", "changed", "in another order"],
)
def test_issued_thinking_may_not_be_changed(blocks: tuple[Body, ...]) -> None:
    assert {one.rule for one in issued().problems([user(SAY), assistant(*blocks)])} == {"V4"}

"""Each rule of the Chat Completions wire has a legal body beside it and refuses its own break."""

import base64
import struct
from typing import Any

import pytest

from ostinato.testing import WireRules, find_openai_problems, openai_problems

Body = dict[str, Any]
SYSTEM: Body = {"role": "system", "content": "be brief"}
USER: Body = {"role": "user", "content": "hello"}
TOOL: Body = {"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}
RESULT: Body = {"role": "tool", "tool_call_id": "c1", "content": "text"}


def called(*ids: str, arguments: object = "{}", **more: object) -> Body:
    function = {"name": "Read", "arguments": arguments}
    calls = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **more}


def answer(call: str) -> Body:
    return {**RESULT, "tool_call_id": call}


def body(*messages: Body, **parameters: object) -> Body:
    return {"model": "m", "messages": list(messages) or [USER], "tools": [TOOL], **parameters}


def tool(name: str = "Read", **schema: object) -> Body:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", **schema}}}


def png(width: int, height: int) -> Body:
    head = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", width, height)
    url = "data:image/png;base64," + base64.b64encode(head).decode()
    return {"type": "image_url", "image_url": {"url": url}}


def rules_broken(request: Body, rules: WireRules | None = None) -> set[str]:
    return {problem.rule for problem in find_openai_problems(request, rules or WireRules())}


MARK: Body = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}

LEGAL = {
    "one prompt": body(SYSTEM, USER),
    "two users in a row": body(USER, USER),
    "calls and their results in any order": body(USER, called("c1", "c2"), answer("c2"), answer("c1"), USER),
    "an empty result": body(USER, called("c1"), {**RESULT, "content": ""}),
    "empty content beside a call": body(USER, {**called("c1"), "content": ""}, RESULT),
    "four marks": body({"role": "user", "content": [MARK] * 4}),
    "21 small images": body({"role": "user", "content": [png(2000, 10)] * 21}),
}


@pytest.mark.parametrize("request_body", LEGAL.values(), ids=LEGAL.keys())
def test_a_legal_request_has_no_problem(request_body: Body) -> None:
    assert openai_problems(request_body) == ()


ILLEGAL: dict[str, tuple[str, Body]] = {
    "V1 no result": ("V1", body(USER, called("c1"), USER)),
    "V1 no result at the end": ("V1", body(USER, called("c1"))),
    "V1 one result of two": ("V1", body(USER, called("c1", "c2"), RESULT, USER)),
    "V1 a result without a call": ("V1", body(USER, RESULT)),
    "V1 a result after another message": ("V1", body(USER, called("c1"), RESULT, USER, RESULT)),
    "V1 two results for one call": ("V1", body(USER, called("c1"), RESULT, RESULT)),
    "V2 an empty id": ("V2", body(USER, called(""), answer(""))),
    "V2 one id twice": ("V2", body(USER, called("c1", "c1"), RESULT, RESULT)),
    "V2 one id in two replies": ("V2", body(USER, called("c1"), RESULT, called("c1"), RESULT)),
    "V3 no message": ("V3", {**body(), "messages": []}),
    "V3 only instructions": ("V3", body(SYSTEM)),
    "V3 the assistant first": ("V3", body(SYSTEM, {"role": "assistant", "content": "hi"}, USER)),
    "V3 a late system message": ("V3", body(USER, SYSTEM)),
    "V3 an unknown role": ("V3", body(USER, {"role": "robot", "content": "x"})),
    "V3 empty text": ("V3", body({"role": "user", "content": ""})),
    "V3 blank text": ("V3", body({"role": "user", "content": " \n"})),
    "V3 no result text": ("V3", body(USER, called("c1"), {**RESULT, "content": None})),
    "V3 a blank part in a result": (
        "V3",
        body(USER, called("c1"), {**RESULT, "content": [{"type": "text", "text": " "}]}),
    ),
    "V3 no content": ("V3", body(USER, {"role": "assistant", "content": None}, USER)),
    "V3 empty content": ("V3", body({"role": "user", "content": []})),
    "V3 a blank part": ("V3", body({"role": "user", "content": [{"type": "text", "text": " "}]})),
    "V5 five marks": ("V5", body({"role": "user", "content": [MARK] * 5})),
    "V6 output above the model's": ("V6", body(max_tokens=64_001)),
    "V7 a bad name": ("V7", body(tools=[tool("my tool")])),
    "V7 a bad name in the history": (
        "V7",
        body(
            USER,
            called("c1", tool_calls=[{"id": "c1", "function": {"name": "a b", "arguments": "{}"}}]),
            RESULT,
        ),
    ),
    "V7 a long name": ("V7", body(tools=[tool("x" * 65)])),
    "V7 one name twice": ("V7", body(tools=[TOOL, TOOL])),
    "V7 a schema of another type": ("V7", body(tools=[tool(type="string")])),
    "V7 anyOf at the top": ("V7", body(tools=[tool(anyOf=[])])),
    "V8 no tools in the list": ("V8", body(tools=[])),
    "V8 a tool choice without tools": ("V8", {"model": "m", "messages": [USER], "tool_choice": "auto"}),
    "V8 parallel calls without tools": (
        "V8",
        {"model": "m", "messages": [USER], "parallel_tool_calls": True},
    ),
    "V9 a huge image": ("V9", body({"role": "user", "content": [png(8001, 1)]})),
    "V9 a large image among many": (
        "V9",
        body({"role": "user", "content": [*[png(1, 1)] * 20, png(2001, 1)]}),
    ),
    "arguments that are cut": ("shape", body(USER, called("c1", arguments='{"a":"b'), RESULT)),
    "arguments that are an object": ("shape", body(USER, called("c1", arguments={}), RESULT)),
}


@pytest.mark.parametrize(("rule", "request_body"), ILLEGAL.values(), ids=ILLEGAL.keys())
def test_a_break_is_found_under_its_rule(rule: str, request_body: Body) -> None:
    assert rule in rules_broken(request_body)


def test_the_window_holds_prompt_and_output() -> None:
    small = WireRules(context_window=2000)
    long = body({"role": "user", "content": "x" * 40_000})
    wide = body({"role": "user", "content": "x" * 4000}, max_tokens=1500)
    for request, words in ((long, "your messages resulted in"), (wide, "in the completion")):
        (problem,) = find_openai_problems(request, small)
        assert problem.code == "context_length_exceeded"
        assert words in problem.message
    assert rules_broken(body(max_tokens=1500), small) == set()


def test_a_model_takes_one_name_for_its_output_limit() -> None:
    reasoning = WireRules(output_parameter="max_completion_tokens", takes_temperature=False)
    assert rules_broken(body(max_tokens=10), reasoning) == {"V8"}
    assert rules_broken(body(max_completion_tokens=10), reasoning) == set()
    assert rules_broken(body(temperature=0.2), reasoning) == {"V8"}


def test_reasoning_must_come_back_where_the_model_wants_it_and_not_elsewhere() -> None:
    without, with_it = (
        body(USER, called("c1"), RESULT),
        body(USER, called("c1", reasoning_content=""), RESULT),
    )
    assert rules_broken(without, WireRules(reasoning_content="required")) == {"V4"}
    assert rules_broken(with_it, WireRules(reasoning_content="required")) == set()
    assert rules_broken(with_it, WireRules(reasoning_content="refused")) == {"V4"}
    assert rules_broken(without, WireRules(reasoning_content="refused")) == set()

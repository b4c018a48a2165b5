"""Each rule of the Responses wire has a legal body beside it and refuses its own break."""

import base64
import json
import struct
from typing import Any

import pytest
from tests.testing.raw_client import ask, data_of

from ostinato.errors import ModelError
from ostinato.messages import Usage
from ostinato.testing import (
    Cut,
    OnWire,
    Reply,
    StrictServer,
    WireRules,
    call,
    find_responses_problems,
    responses_problems,
    say,
    think,
    think_hidden,
)

RESPONSES = "/v1/responses"
Body = dict[str, Any]
USER: Body = {"type": "message", "role": "user", "content": "hello"}
SAID: Body = {"type": "message", "role": "assistant", "content": "hi"}
TOOL: Body = {"type": "function", "name": "Read", "parameters": {"type": "object"}, "strict": False}
STRICT: Body = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
LOOSE: Body = {**STRICT, "required": []}


def called(call_id: str = "c1", arguments: object = "{}", name: str = "Read") -> Body:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def answer(call_id: str = "c1", output: object = "text") -> Body:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def thought(**fields: object) -> Body:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed", **fields}


def said(*parts: Body, role: str = "user") -> Body:
    return {"role": role, "content": list(parts)}


def text(words: str = "x", kind: str = "input_text", **fields: object) -> Body:
    return {"type": kind, "text": words, **fields}


def body(*items: Body, **parameters: object) -> Body:
    return {"model": "m", "input": list(items) or [USER], "tools": [TOOL], "store": False, **parameters}


def tool(name: str = "Read", *, strict: object = False, **schema: object) -> Body:
    return {"type": "function", "name": name, "parameters": {"type": "object", **schema}, "strict": strict}


def png(width: int, height: int) -> Body:
    head = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", width, height)
    return {
        "type": "input_image",
        "image_url": "data:image/png;base64," + base64.b64encode(head).decode(),
    }


def rules_broken(request: Body, rules: WireRules | None = None) -> set[str]:
    return {problem.rule for problem in find_responses_problems(request, rules or WireRules())}


MARK = text(cache_control={"type": "ephemeral"})

LEGAL = {
    "one prompt": body(),
    "a bare string": {"model": "m", "input": "hello"},
    "a message without its type": body({"role": "user", "content": "hello"}),
    "two users in a row": body(USER, USER),
    "calls and their answers in any order": body(
        USER, called("a"), called("b"), answer("b"), answer("a"), USER
    ),
    "words between two calls": body(
        USER, called("z"), answer("z"), called("a"), SAID, called("b"), answer("a"), answer("b")
    ),
    "an empty answer": body(USER, called(), answer(output="")),
    "an answer with a picture": body(USER, called(), answer(output=[text(), png(10, 10)])),
    "thoughts before a call": body(USER, thought(), called(), answer()),
    "thoughts before words": body(USER, thought(), thought(), SAID, USER),
    "four marks": body(said(*[MARK] * 4)),
    "a strict tool": body(tools=[{**tool(strict=True), "parameters": STRICT}]),
    "encrypted thoughts": body(include=["reasoning.encrypted_content"]),
    "21 small images": body(said(*[png(2000, 10)] * 21)),
}


@pytest.mark.parametrize("request_body", LEGAL.values(), ids=LEGAL.keys())
def test_a_legal_request_has_no_problem(request_body: Body) -> None:
    assert responses_problems(request_body) == ()


ILLEGAL: dict[str, tuple[str, Body]] = {
    "V1 no answer": ("V1", body(USER, called(), USER)),
    "V1 no answer at the end": ("V1", body(USER, called())),
    "V1 one answer of two": ("V1", body(USER, called("a"), called("b"), answer("a"), USER)),
    "V1 an answer without a call": ("V1", body(USER, answer())),
    "V1 an answer after another message": ("V1", body(USER, called(), USER, answer())),
    "V1 an answer after the model's next words": (
        "V1",
        body(USER, called("a"), called("b"), answer("a"), SAID, answer("b")),
    ),
    "V1 two answers to one call": ("V1", body(USER, called(), answer(), answer())),
    "V2 an empty id": ("V2", body(USER, called(""), answer(""))),
    "V2 a long id": ("V2", body(USER, called("x" * 65), answer("x" * 65))),
    "V2 one id twice": ("V2", body(USER, called(), answer(), called(), answer())),
    "V3 nothing": ("V3", {**body(), "input": []}),
    "V3 the assistant first": ("V3", body(SAID, USER)),
    "V3 an unknown role": ("V3", body(USER, {"role": "robot", "content": "x"})),
    "V3 empty text": ("V3", body({**USER, "content": ""})),
    "V3 a blank part": ("V3", body(said(text(" \n")))),
    "V3 no parts": ("V3", body(said())),
    "V3 no answer text": ("V3", body(USER, called(), answer(output=None))),
    "V3 a blank part in an answer": ("V3", body(USER, called(), answer(output=[text(" ")]))),
    "V4 thoughts alone": ("V4", body(USER, thought(), USER)),
    "V4 thoughts at the end": ("V4", body(USER, thought())),
    "V4 thoughts without their seal": ("V4", body(USER, thought(encrypted_content=None), SAID, USER)),
    "V4 thoughts without a summary": ("V4", body(USER, thought(summary=None), SAID, USER)),
    "V5 five marks": ("V5", body(said(*[MARK] * 5))),
    "V6 output above the model's": ("V6", body(max_output_tokens=64_001)),
    "V6 output below the least": ("V6", body(max_output_tokens=15)),
    "V7 a bad name": ("V7", body(tools=[tool("my tool")])),
    "V7 a bad name in the history": ("V7", body(USER, called(name="a b"), answer())),
    "V7 a tool of the other wire": ("V7", body(tools=[{"type": "function", "function": TOOL}])),
    "V7 one name twice": ("V7", body(tools=[TOOL, TOOL])),
    "V7 a schema of another type": ("V7", body(tools=[tool(type="string")])),
    "V7 anyOf at the top": ("V7", body(tools=[tool(anyOf=[])])),
    "V7 strict, and open to more": ("V7", body(tools=[tool(strict=True)])),
    "V7 strict unless said otherwise": ("V7", body(tools=[tool(strict=None)])),
    "V7 strict, with an optional argument": (
        "V7",
        body(tools=[{**tool(strict=True), "parameters": LOOSE}]),
    ),
    "V8 a parameter of the other wire": ("V8", body(max_tokens=100)),
    "V8 messages of the other wire": ("V8", body(messages=[])),
    "V8 parallel calls without tools": ("V8", {**body(parallel_tool_calls=True), "tools": []}),
    "V8 sealed thoughts that are kept there": (
        "V8",
        body(include=["reasoning.encrypted_content"], store=True),
    ),
    "V9 a huge image": ("V9", body(said(png(8001, 1)))),
    "V9 a huge image in an answer": ("V9", body(USER, called(), answer(output=[png(8001, 1)]))),
    "an unknown item": ("shape", body(USER, {"type": "tool"})),
    "a part of the other side": ("shape", body(said(text(kind="output_text")))),
    "a part of the other wire": ("shape", body(said(text(kind="text")))),
    "arguments that are cut": ("shape", body(USER, called(arguments='{"a":"b'), answer())),
    "arguments that are an object": ("shape", body(USER, called(arguments={}), answer())),
}


@pytest.mark.parametrize(("rule", "request_body"), ILLEGAL.values(), ids=ILLEGAL.keys())
def test_a_break_is_found_under_its_rule(rule: str, request_body: Body) -> None:
    assert rule in rules_broken(request_body)


def test_the_window_holds_prompt_and_output() -> None:
    rules = WireRules(context_window=1000, max_output_tokens=800)
    long, short = {**USER, "content": "x" * 5000}, {**USER, "content": "x" * 1000}
    assert rules_broken(body(short, max_output_tokens=600), rules) == set()
    assert rules_broken(body(short, max_output_tokens=790), rules) == {"V6"}
    (problem,) = find_responses_problems(body(long, max_output_tokens=16), rules)
    assert problem.code == "context_length_exceeded"


def test_a_model_may_refuse_a_temperature() -> None:
    assert rules_broken(body(temperature=0.5), WireRules(takes_temperature=False)) == {"V8"}


# ------------------------------------------------------------------------------------------------ the server


ASKED = body(max_output_tokens=100)
STREAMED = {**ASKED, "stream": True}
REPLY = Reply(
    think("hm", signature="sig"),
    think_hidden("dark"),
    say("hello world"),
    call("Read", id="t1", path="a"),
    usage=Usage(10, 5, 90, reasoning_tokens=3),
)


def test_a_reply_streams_as_items_that_begin_and_end() -> None:
    with StrictServer(REPLY) as server:
        status, sent, end = ask(server.url, RESPONSES, STREAMED)
    data = data_of(sent)
    assert (status, end) == (200, "complete")
    assert [one["sequence_number"] for one in data] == list(range(len(data)))
    assert sent.startswith(b"event: response.created\n")
    items = [one["item"] for one in data if one["type"] == "response.output_item.done"]
    assert [item["type"] for item in items] == ["reasoning", "reasoning", "message", "function_call"]
    assert [item.get("encrypted_content") for item in items[:2]] == ["sig", "dark"]
    begun = [one["item"] for one in data if one["type"] == "response.output_item.added"]
    assert "sig" not in [item.get("encrypted_content") for item in begun]
    deltas = [one["delta"] for one in data if one["type"] == "response.function_call_arguments.delta"]
    assert "".join(deltas) == '{"path":"a"}'
    last = data[-1]
    assert last["type"] == "response.completed"
    assert last["response"]["output"] == items
    assert last["response"]["usage"]["input_tokens"] == 100
    assert last["response"]["usage"]["output_tokens_details"] == {"reasoning_tokens": 3}


def test_a_reply_comes_whole_without_streaming() -> None:
    with StrictServer(REPLY, Reply(say("a"), stop_reason="max_tokens")) as server:
        whole, cut = (json.loads(ask(server.url, RESPONSES, ASKED)[1]) for _ in range(2))
    assert whole["status"] == "completed"
    assert [item["type"] for item in whole["output"]] == [
        "reasoning",
        "reasoning",
        "message",
        "function_call",
    ]
    assert (cut["status"], cut["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


def test_an_illegal_request_is_refused_in_the_providers_own_words_and_takes_no_turn() -> None:
    with StrictServer(REPLY) as server:
        status, refusal, _ = ask(server.url, RESPONSES, body(USER, called()))
        assert server.turns_left == 1
    error = json.loads(refusal)["error"]
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert error["message"] == "No tool output found for function call c1."


def test_errors_and_faults_come_on_this_wire_too() -> None:
    broken = Cut(Reply(say("a")), after_blocks=1, error=ModelError("busy", kind="overloaded"))
    with StrictServer(broken, OnWire(REPLY, without_end_mark=True)) as server:
        error = ask(server.url, RESPONSES, STREAMED)[1]
        endless = ask(server.url, RESPONSES, STREAMED)[1]
    last = data_of(error)[-1]
    assert (last["type"], last["code"], last["message"]) == ("error", "server_is_overloaded", "busy")
    assert data_of(endless)[-1]["type"] == "response.output_item.done"

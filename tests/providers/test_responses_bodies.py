"""The Responses wire, requests: every message becomes items, and what the model thought goes back to it and to nobody else."""

import json

import pytest
from tests.providers.requests import facts, request
from tests.providers.responses_requests import FACTS, SEALED, asked_and_answered, body_of

from ostinato.messages import (
    Document,
    Image,
    ProviderState,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from ostinato.ports import RequestMessage
from ostinato.ports import Thinking as ThinkingWish
from ostinato.providers.openai_responses_wire import ResponsesBodies


def test_the_least_that_is_sent():
    body = body_of()
    assert body == {
        "model": "model-1",
        "max_output_tokens": 1000,
        "include": ["reasoning.encrypted_content"],
        "instructions": "be brief",
        "tools": [
            {
                "type": "function",
                "name": "Read",
                "description": "Read a file",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                "strict": False,
            }
        ],
        "parallel_tool_calls": True,
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
        "prompt_cache_key": body["prompt_cache_key"],
        "store": False,
        "stream": True,
    }


def test_a_limit_below_the_least_that_is_taken_is_raised_to_it():
    assert body_of(max_output_tokens=5)["max_output_tokens"] == 16


def test_a_model_that_does_not_think_is_not_asked_for_thoughts():
    body = body_of(model=facts("openai"), temperature=0.5, tools=(), wants_stream=False)
    assert "temperature" in body
    assert body["stream"] is False
    assert not {"include", "reasoning", "tools", "parallel_tool_calls"} & body.keys()


@pytest.mark.parametrize(("budget", "effort"), [(1_024, "low"), (10_000, "medium"), (31_999, "high")])
def test_a_budget_becomes_an_effort_beside_tools_too(budget: int, effort: str):
    body = body_of(thinking=ThinkingWish(budget))
    assert body["reasoning"] == {"effort": effort, "summary": "auto"}
    assert body["tools"]


def test_the_cache_key_stays_while_a_conversation_grows_and_tells_conversations_apart():
    first = RequestMessage("user", (Text("hello"),))
    more = (RequestMessage("assistant", (Text("hi"),)), RequestMessage("user", (Text("go"),)))
    keys = [
        body_of(*messages)["prompt_cache_key"]
        for messages in ((first,), (first, *more), (RequestMessage("user", (Text("other"),)),))
    ]
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


def test_another_models_thoughts_stay_away_whole():
    for state in (
        ProviderState("openai", "model-2", SEALED.data),
        ProviderState("anthropic", "model-1", SEALED.data),
        ProviderState("openai", "model-1", "reasoning_content"),
        None,
    ):
        items = asked_and_answered(Thinking("why", state), ToolUse("call_1", "Read", {}))
        assert [item["type"] for item in items] == ["function_call", "function_call_output"]


def test_thoughts_that_nothing_follows_stay_away():
    items = asked_and_answered(Text("so"), Thinking("why", SEALED))
    assert [item["type"] for item in items] == ["message", "message"]


def test_blocks_keep_their_order():
    items = asked_and_answered(
        Thinking("why", SEALED),
        Text("first"),
        ToolUse("a", "Read", {}),
        Thinking("why", SEALED),
        ToolUse("b", "Read", {}),
    )
    assert [item["type"] for item in items[:5]] == [
        "reasoning",
        "message",
        "function_call",
        "reasoning",
        "function_call",
    ]


def test_answers_come_first_say_that_they_failed_and_hold_their_pictures():
    image = Image("image/png", "iVBORw0KGgo=")
    items = asked_and_answered(
        ToolUse("a", "Read", {"path": "x"}),
        ToolUse("b", "Read", {}),
        results=(
            ToolResult("a", (Text("see"), image, Document("application/pdf", "JVBERi0=", "d.pdf"))),
            ToolResult("b", "no such file", is_error=True),
        ),
    )
    assert items[0]["arguments"] == '{"path":"x"}'
    url = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
    file = {"type": "input_file", "filename": "d.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
    assert items[2] == {
        "type": "function_call_output",
        "call_id": "a",
        "output": [{"type": "input_text", "text": "see"}, url, file],
    }
    assert items[3]["output"] == "Error: no such file"


def test_the_next_request_extends_the_last_one():
    bodies = ResponsesBodies(FACTS)
    first = [RequestMessage("user", (Text("hello"),))]
    more = [RequestMessage("assistant", (Text("hi"),)), RequestMessage("user", (Text("go"),))]
    before, after = (json.loads(bodies.body(request(messages))) for messages in (first, first + more))
    assert after["input"][: len(before["input"])] == before["input"]
    assert {k: v for k, v in after.items() if k != "input"} == {
        k: v for k, v in before.items() if k != "input"
    }

"""Request bodies: what of a conversation goes on which wire, how it is marked for the cache, and that old bytes stay."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from tests.providers.requests import READ, facts, request

from ostinato.messages import (
    AssistantBlock,
    Document,
    Image,
    ProviderState,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserBlock,
)
from ostinato.ports import ModelRequest, RequestMessage
from ostinato.ports import Thinking as ThinkingBudget
from ostinato.providers.anthropic_wire import AnthropicBodies, mark_places
from ostinato.providers.encoded import EncodedBytes
from ostinato.providers.openai_wire import OpenAIBodies

PNG = Image("image/png", "aW1n")
PDF = Document("application/pdf", "cGRm", "paper")
MARK = {"type": "ephemeral"}


def user(*blocks: UserBlock) -> RequestMessage:
    return RequestMessage("user", blocks)


def assistant(*blocks: AssistantBlock) -> RequestMessage:
    return RequestMessage("assistant", blocks)


def signed(provider: str, data: str = "sig", model: str = "model-1") -> ProviderState:
    return ProviderState(provider, model, data)


def anthropic_body(sent: ModelRequest, **changes: Any) -> dict[str, Any]:
    return json.loads(AnthropicBodies(facts("anthropic", **changes)).body(sent))


def openai_body(sent: ModelRequest, **changes: Any) -> dict[str, Any]:
    return json.loads(OpenAIBodies(facts("openai", **changes)).body(sent))


def without_marks(value: Any) -> Any:
    def unmarked(entries: dict[str, Any]) -> dict[str, Any]:
        return {key: item for key, item in entries.items() if key != "cache_control"}

    return json.loads(json.dumps(value), object_hook=unmarked)


def count_marks(value: Any) -> int:
    return json.dumps(value).count('"cache_control"')


def turn(calls: int, number: int = 0) -> tuple[RequestMessage, RequestMessage]:
    """A reply with so many calls, and their results."""
    ids = [f"t{number}_{index}" for index in range(calls)]
    return (
        assistant(*[ToolUse(call_id, "Read", {"path": call_id}) for call_id in ids]),
        user(*[ToolResult(call_id, "x") for call_id in ids]),
    )


HISTORY = (
    user(Text("look"), PNG, PDF),
    assistant(
        Thinking("hm", signed("anthropic")),
        RedactedThinking(signed("anthropic", "xyz")),
        Text("yes"),
        ToolUse("t1", "Read", {"path": "a"}),
        ToolUse("t2", "Read", {}),
    ),
    user(ToolResult("t1", "one"), ToolResult("t2", (Text("two"), PNG), is_error=True), Text("go on")),
)


def test_the_whole_conversation_on_the_anthropic_wire():
    body = anthropic_body(request(HISTORY, temperature=0.5))
    assert without_marks(body) == {
        "model": "model-1",
        "max_tokens": 1000,
        "temperature": 0.5,
        "tools": [
            {"name": "Read", "description": "Read a file", "input_schema": READ.input_schema},
        ],
        "system": [{"type": "text", "text": "be brief"}],
        "stream": True,
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "aW1n"},
                    },
                    {
                        "type": "document",
                        "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"},
                        "title": "paper",
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "xyz"},
                    {"type": "text", "text": "yes"},
                    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}},
                    {"type": "tool_use", "id": "t2", "name": "Read", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "t2",
                        "content": [
                            {"type": "text", "text": "two"},
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "aW1n"},
                            },
                        ],
                        "is_error": True,
                    },
                    {"type": "text", "text": "go on"},
                ],
            },
        ],
    }


def test_the_whole_conversation_on_the_chat_wire():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1n"}}
    body = openai_body(request(HISTORY, temperature=0.5))
    assert body == {
        "model": "model-1",
        "max_tokens": 1000,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {"name": "Read", "description": "Read a file", "parameters": READ.input_schema},
            }
        ],
        "messages": [
            {"role": "system", "content": "be brief"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    image,
                    {
                        "type": "file",
                        "file": {"filename": "paper", "file_data": "data:application/pdf;base64,cGRm"},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": "yes",
                "tool_calls": [
                    {
                        "id": "t1",
                        "type": "function",
                        "function": {"name": "Read", "arguments": '{"path":"a"}'},
                    },
                    {"id": "t2", "type": "function", "function": {"name": "Read", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "one"},
            {
                "role": "tool",
                "tool_call_id": "t2",
                "content": "Error: two\n\n(see the attachment below)",
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Attachment of the tool result t2:"},
                    image,
                    {"type": "text", "text": "go on"},
                ],
            },
        ],
    }


def test_text_alone_is_sent_as_plain_text_on_the_chat_wire():
    body = openai_body(request([user(Text("a"), Text("b"))], system=("x", " ", "y"), tools=()))
    assert body["messages"] == [
        {"role": "system", "content": "x\n\ny"},
        {"role": "user", "content": "a\n\nb"},
    ]
    assert "tools" not in body


@pytest.mark.parametrize("system", [(), ("",), (" \n",)])
def test_a_blank_system_prompt_is_left_out(system: tuple[str, ...]):
    assert "system" not in anthropic_body(request(system=system))
    assert [m["role"] for m in openai_body(request(system=system))["messages"]] == ["user"]


@pytest.mark.parametrize(
    "state",
    [None, signed("openai"), signed("anthropic", model="model-2")],
    ids=["unsigned", "provider", "model"],
)
def test_thinking_that_this_model_did_not_sign_is_dropped_whole(state: ProviderState | None):
    body = anthropic_body(
        request([user(Text("a")), assistant(Thinking("hm", state), Text("b")), user(Text("c"))])
    )
    assert without_marks(body["messages"][1]) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "b"}],
    }


def test_signed_thinking_goes_back_byte_for_byte_even_when_it_is_empty():
    body = anthropic_body(request([user(Text("a")), assistant(Thinking("", signed("anthropic")), Text("b"))]))
    assert body["messages"][1]["content"][0] == {"type": "thinking", "thinking": "", "signature": "sig"}


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_message_with_nothing_for_this_wire_is_left_out_not_sent_empty(provider: str):
    foreign = assistant(Thinking("hm", signed("elsewhere")))
    sent = request([user(Text("a")), foreign, user(Text("b"))], system=())
    body = anthropic_body(sent) if provider == "anthropic" else openai_body(sent)
    assert [message["role"] for message in body["messages"]] == ["user", "user"]


@pytest.mark.parametrize(
    ("echo", "state", "expected"),
    [
        ("given", signed("openai", "reasoning_content"), {"reasoning_content": "hm"}),
        ("given", signed("openai", "reasoning"), {"reasoning": "hm"}),
        ("always", signed("openai", "reasoning_content"), {"reasoning_content": "hm"}),
        ("never", signed("openai", "reasoning_content"), {}),
        ("given", signed("anthropic", "sig"), {}),
        ("given", signed("openai", "reasoning_content", "model-2"), {}),
        ("always", signed("anthropic", "sig"), {"reasoning_content": ""}),
        ("given", None, {}),
        ("always", None, {"reasoning_content": ""}),
    ],
)
def test_reasoning_goes_back_where_it_belongs(
    echo: str, state: ProviderState | None, expected: dict[str, str]
):
    messages = [user(Text("a")), assistant(Thinking("hm", state), ToolUse("t", "Read", {}))]
    body = openai_body(request(messages), reasoning_echo=echo)
    sent = body["messages"][2]
    assert {key: value for key, value in sent.items() if key.startswith("reasoning")} == expected
    assert len(sent["tool_calls"]) == 1


# ------------------------------------------------------------------------------------------------ parameter rules


@pytest.mark.parametrize(
    ("form", "budget", "expected"),
    [
        ("none", 5000, {"temperature": 0.5}),
        ("budget", 0, {"temperature": 0.5}),
        ("budget", 5000, {"thinking": {"type": "enabled", "budget_tokens": 5000}}),
        ("budget", 50_000, {"thinking": {"type": "enabled", "budget_tokens": 7999}}),
        ("budget", 500, {"temperature": 0.5}),
        ("adaptive", 5000, {"thinking": {"type": "adaptive", "display": "summarized"}}),
        ("adaptive", 0, {"temperature": 0.5}),
    ],
)
def test_thinking_and_temperature_exclude_one_another(form: str, budget: int, expected: dict[str, Any]):
    sent = request(temperature=0.5, thinking=ThinkingBudget(budget), max_output_tokens=8000)
    body = anthropic_body(sent, thinking_form=form)
    assert {key: body[key] for key in ("thinking", "temperature") if key in body} == expected


@pytest.mark.parametrize(
    ("form", "budget", "has_tools", "effort"),
    [
        ("none", 5000, False, None),
        ("effort", 0, True, None),
        ("effort", 2000, True, "low"),
        ("effort", 8000, True, "medium"),
        ("effort", 50_000, True, "high"),
        ("effort_without_tools", 8000, True, "none"),
        ("effort_without_tools", 0, True, "none"),
        ("effort_without_tools", 8000, False, "medium"),
        ("effort_without_tools", 0, False, None),
    ],
)
def test_effort_follows_the_budget_and_the_models_rules(
    form: str, budget: int, has_tools: bool, effort: str | None
):
    sent = request(thinking=ThinkingBudget(budget), tools=(READ,) if has_tools else ())
    assert openai_body(sent, thinking_form=form).get("reasoning_effort") == effort


def test_parameters_follow_the_models_rules():
    body = openai_body(
        request(temperature=0.5), takes_temperature=False, output_parameter="max_completion_tokens"
    )
    assert body["max_completion_tokens"] == 1000
    assert "max_tokens" not in body
    assert "temperature" not in body
    assert "temperature" not in anthropic_body(request(temperature=0.5), takes_temperature=False)
    assert "temperature" not in anthropic_body(request())


# ------------------------------------------------------------------------------------------------ cache marks


@pytest.mark.parametrize("calls", [1, 3, 7, 8, 15, 16, 30, 60])
@pytest.mark.parametrize("system", [("a", "b"), ()])
def test_marks_are_at_most_four_on_the_wire_and_the_last_block_has_one(calls: int, system: tuple[str, ...]):
    body = anthropic_body(request([user(Text("hi")), *turn(calls)], system=system))
    assert 2 <= count_marks(body) <= 4
    assert body["messages"][-1]["content"][-1]["cache_control"] == MARK
    head = body["system"] if system else body["tools"]
    assert head[-1]["cache_control"] == MARK
    assert count_marks(body["system"] if system else []) + count_marks(body["tools"]) == 1


@pytest.mark.parametrize("calls", [1, 7, 8, 16, 60])
@pytest.mark.parametrize(
    ("system", "own", "shared_end"),
    [
        (("a", "b", "mine"), 1, ("system", 1)),
        (("a", " ", "mine"), 1, ("system", 0)),
        (("a", "mine", "mine too"), 2, ("system", 0)),
        (("a", "b"), 0, ("system", 1)),
        (("a", " "), 1, ("system", 0)),
        (("mine",), 1, ("tools", 0)),
        ((" ", "mine"), 1, ("tools", 0)),
        (("mine",), 7, ("tools", 0)),
    ],
)
def test_a_mark_stands_where_what_other_conversations_send_too_ends(
    calls: int, system: tuple[str, ...], own: int, shared_end: tuple[str, int]
):
    body = anthropic_body(request([user(Text("hi")), *turn(calls)], system=system, own_system_blocks=own))
    where, place = shared_end
    assert body[where][place]["cache_control"] == MARK
    assert count_marks(body) <= 4
    assert [block["text"] for block in body["system"]] == [text for text in system if text.strip()]
    plain = anthropic_body(request([user(Text("hi")), *turn(calls)], system=system))
    assert body["messages"] == plain["messages"]
    assert without_marks(body) == without_marks(plain)


def test_where_a_mark_is_left_the_conversations_own_system_blocks_have_it():
    marked = [
        ["cache_control" in block for block in anthropic_body(sent)["system"]]
        for sent in (
            request([user(Text("hi")), *turn(calls)], system=("a", "mine"), own_system_blocks=1)
            for calls in (1, 16)
        )
    ]
    assert marked == [[True, True], [True, False]]


def test_after_a_long_turn_there_is_a_mark_fifteen_blocks_before_the_end_and_one_where_the_turn_began():
    messages = [user(Text("hi")), *turn(20)]
    assert mark_places(messages) == {2: frozenset({19, 4}), 0: frozenset({0})}
    assert mark_places([user(Text("hi")), *turn(7)]) == {2: frozenset({6})}


@pytest.mark.parametrize(
    "last",
    [
        user(Text("a"), Text("  ")),
        user(ToolResult("t", "x"), Text("")),
    ],
)
def test_blank_text_never_carries_a_mark(last: RequestMessage):
    body = anthropic_body(request([user(Text("hi")), assistant(ToolUse("t", "Read", {})), last]))
    content = body["messages"][-1]["content"]
    assert ["cache_control" in block for block in content] == [True, False]


def test_thinking_never_carries_a_mark():
    thinking = Thinking("hm", signed("anthropic"))
    body = anthropic_body(request([user(Text("hi")), assistant(Text("a"), thinking)]))
    assert ["cache_control" in block for block in body["messages"][1]["content"]] == [True, False]


# ------------------------------------------------------------------------------------------------ stability


def grown(turns: int) -> list[RequestMessage]:
    messages = [user(Text("hi"))]
    for number in range(turns):
        messages += turn(2, number)
    return messages


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_the_next_request_extends_the_last_one(provider: str):
    messages = grown(12)
    bodies = AnthropicBodies(facts("anthropic")) if provider == "anthropic" else OpenAIBodies(facts("openai"))

    def sent(count: int) -> list[Any]:
        return without_marks(json.loads(bodies.body(request(messages[:count])))["messages"])

    for count in range(1, len(messages), 2):
        longer = sent(count + 2)
        assert longer[: len(sent(count))] == sent(count)
    fresh = AnthropicBodies(facts("anthropic")) if provider == "anthropic" else OpenAIBodies(facts("openai"))
    assert fresh.body(request(messages)) == bodies.body(request(messages))


def test_each_message_is_encoded_once_while_it_stays_in_use():
    encoded = EncodedBytes()
    items = [user(Text(str(number))) for number in range(100)]
    seen: list[object] = []

    def encode(item: RequestMessage) -> bytes:
        seen.append(item)
        return b"x"

    for _ in range(3):
        for item in items:
            encoded.of(item, encode)
    assert seen == items


def test_the_cache_is_bounded_and_drops_what_was_not_used_for_longest():
    encoded = EncodedBytes(max_bytes=100)
    calls: list[str] = []

    def use(items: Sequence[str]) -> None:
        for item in items:
            encoded.of(item, lambda text: (calls.append(text), b"x" * 30)[1])

    use(["a", "b", "c"])
    use(["a"])
    use(["d"])
    assert encoded.size_bytes <= 100
    calls.clear()
    use(["a", "c", "d"])
    assert calls == []
    use(["b"])
    assert calls == ["b"]


def test_one_thing_larger_than_the_bound_is_still_encoded_right():
    encoded = EncodedBytes(max_bytes=10)
    assert encoded.of("big", lambda _: b"x" * 50) == b"x" * 50
    assert encoded.of("small", lambda _: b"y") == b"y"
    assert encoded.size_bytes == 1

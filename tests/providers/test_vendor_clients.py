"""The vendors' own clients as judges: they take our requests as their own, and read from a stream what we read.

Slow to load, so that they are loaded inside the tests. What they would send otherwise is listed in `vendor_differences.json`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

import pytest
from tests.providers import anthropic_stream, openai_stream, responses_stream
from tests.providers.requests import READ, blocks_of, decode, facts, request, stop_of
from tests.providers.wire_server import Answer, wire_server
from tests.testing.raw_client import ask, data_of

from ostinato.events import AnyModelEvent
from ostinato.messages import Document, Image, ProviderState, Text, Thinking, ToolResult, ToolUse, Usage
from ostinato.ports import ModelRequest, RequestMessage
from ostinato.ports import Thinking as ThinkingWish
from ostinato.providers.anthropic import AnthropicReply
from ostinato.providers.anthropic_wire import AnthropicBodies
from ostinato.providers.calls import CallIds
from ostinato.providers.openai_chat import OpenAIChatReply
from ostinato.providers.openai_responses import OpenAIResponsesReply
from ostinato.providers.openai_responses_wire import ResponsesBodies
from ostinato.providers.openai_wire import OpenAIBodies
from ostinato.testing import Reply, StrictServer, call, say, think

Data = dict[str, Any]

PNG = "iVBORw0KGgo="
DIFFERENCES: Mapping[str, list[str]] = json.loads(
    (Path(__file__).parent / "vendor_differences.json").read_text(encoding="utf-8")
)

ANTHROPIC = facts("anthropic", thinking_form="adaptive", takes_images=True)
CHAT = facts(
    "openai", output_parameter="max_completion_tokens", thinking_form="effort", takes_temperature=False
)
RESPONSES = facts("openai", thinking_form="effort", takes_temperature=False)


def state(wire: str) -> ProviderState:
    if wire == "anthropic":
        return ProviderState("anthropic", "model-1", "sig")
    sealed = '{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"}'
    return ProviderState("openai", "model-1", sealed)


def conversation(wire: str, **changes: Any) -> ModelRequest:
    """Everything that a request can hold."""
    return request(
        [
            RequestMessage("user", (Text("look"), Image("image/png", PNG), Document("application/pdf", "JVBERi0=", "d"))),
            RequestMessage(
                "assistant",
                (Thinking("hm", state(wire)), Text("so"), ToolUse("a", "Read", {"path": "x"}), ToolUse("b", "Read", {})),
            ),
            RequestMessage(
                "user",
                (
                    ToolResult("a", (Text("see"), Image("image/png", PNG))),
                    ToolResult("b", "no such file", is_error=True),
                    Text("go on"),
                ),
            ),
        ],
        tools=(READ,),
        thinking=ThinkingWish(10_000),
        max_output_tokens=2_000,
        **changes,
    )  # fmt: skip


BODIES: Mapping[str, Callable[[ModelRequest], bytes]] = {
    "anthropic": AnthropicBodies(ANTHROPIC).body,
    "chat": OpenAIBodies(CHAT).body,
    "responses": ResponsesBodies(RESPONSES).body,
}
every_wire = pytest.mark.parametrize("wire", BODIES)


def body_of(wire: str, **changes: Any) -> Data:
    return json.loads(BODIES[wire](conversation(wire, **changes)))


def send(wire: str, url: str, body: Data) -> Any:
    """One request by the vendor's client; a stream if `body` says so."""
    if wire == "anthropic":
        from anthropic import Anthropic

        with Anthropic(api_key="k", base_url=url, max_retries=0) as vendor:
            messages: Any = vendor.messages
            return messages.create(**body)
    from openai import OpenAI

    with OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as opened:
        client: Any = opened
        return (
            client.responses.create(**body) if wire == "responses" else client.chat.completions.create(**body)
        )


def differences(ours: Any, theirs: Any, path: str = "$") -> Iterator[str]:
    """Where two JSON values part, by path."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        yield from _differing_fields(cast("Data", ours), cast("Data", theirs), path)
    elif isinstance(ours, list) and isinstance(theirs, list):
        pairs: Any = zip_longest(cast("list[Any]", ours), cast("list[Any]", theirs))
        for place, (one, other) in enumerate(pairs):
            yield from differences(one, other, f"{path}[{place}]")
    elif ours != theirs:
        yield f"{path}: {ours!r} {theirs!r}"


def _differing_fields(ours: Data, theirs: Data, path: str) -> Iterator[str]:
    for key in sorted({*ours, *theirs}):
        if key in ours and key in theirs:
            yield from differences(ours[key], theirs[key], f"{path}.{key}")
        else:
            yield f"{path}.{key}: only {'ours' if key in ours else 'theirs'}"


# ------------------------------------------------------------------------------------------------ requests


@every_wire
@pytest.mark.parametrize("wants_stream", [True, False])
def test_a_vendors_client_sends_our_request_as_its_own(wire: str, wants_stream: bool):
    ours = body_of(wire, wants_stream=wants_stream)
    with StrictServer(Reply(say("hi"))) as server:
        send(wire, server.url, ours)
        server.assert_clean()
    assert sorted(differences(ours, server.requests[0].body)) == sorted(DIFFERENCES[wire])


def test_the_judge_of_types_can_say_no():
    from pydantic import ValidationError

    for wire, parts in (("anthropic", "messages"), ("chat", "messages"), ("responses", "input")):
        body = body_of(wire)
        next(one for one in body[parts] if one.get("role") == "user")["content"][0]["type"] = "words"
        with pytest.raises(ValidationError):
            judge(wire, body)


@every_wire
def test_a_request_is_of_the_types_that_the_vendor_declares(wire: str):
    judge(wire, body_of(wire))


def judge(wire: str, body: Data) -> None:
    """Raises if `body` is not of the type that the vendor's client declares for a request."""
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(_request_type(wire))
    exhaust(adapter.validate_python(body))


def exhaust(value: Any) -> None:
    """Iterables are judged only while they are read."""
    if isinstance(value, Mapping):
        value = list(cast("Mapping[str, Any]", value).values())
    if isinstance(value, Iterable) and not isinstance(value, str):
        for item in cast("Iterable[Any]", value):
            exhaust(item)


def _request_type(wire: str) -> Any:
    match wire:
        case "anthropic":
            from anthropic.types.message_create_params import MessageCreateParamsStreaming as Params
        case "chat":
            from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming as Params
        case _:
            from openai.types.responses.response_create_params import ResponseCreateParamsStreaming as Params
    return Params


# ------------------------------------------------------------------------------------------------ streams

Read = tuple[str, str, list[tuple[str, str, Data]], int, int]
"""Thoughts, text, calls as id, name and arguments, tokens of the whole prompt, and tokens of the output."""

STREAMS: Mapping[str, bytes] = {
    "anthropic": anthropic_stream.GOLDEN,
    "chat": openai_stream.GOLDEN,
    "responses": responses_stream.GOLDEN,
}
DECODERS: Mapping[str, Callable[[], Any]] = {
    "anthropic": lambda: AnthropicReply(ANTHROPIC, CallIds(())),
    "chat": lambda: OpenAIChatReply(CHAT, CallIds(()), 2_000),
    "responses": lambda: OpenAIResponsesReply(RESPONSES, CallIds(())),
}


def what_we_read(events: list[AnyModelEvent]) -> Read:
    blocks, usage = blocks_of(events), stop_of(events).usage
    return (
        "".join(block.thinking for block in blocks if isinstance(block, Thinking)),
        "".join(block.text for block in blocks if isinstance(block, Text)),
        [(block.id, block.name, dict(block.input)) for block in blocks if isinstance(block, ToolUse)],
        usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        usage.output_tokens,
    )


def what_they_read(wire: str, url: str) -> Read:
    match wire:
        case "anthropic":
            return _read_messages(url)
        case "chat":
            return _read_chat(url)
        case _:
            return _read_responses(url)


def _read_messages(url: str) -> Read:
    from anthropic import Anthropic

    asked: Any = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
    with (
        Anthropic(api_key="k", base_url=url, max_retries=0) as client,
        client.messages.stream(**asked) as stream,
    ):
        message = stream.get_final_message()
    usage = message.usage
    return (
        "".join(block.thinking for block in message.content if block.type == "thinking"),
        "".join(block.text for block in message.content if block.type == "text"),
        [(block.id, block.name, dict(block.input)) for block in message.content if block.type == "tool_use"],
        usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0),
        usage.output_tokens,
    )


def _read_chat(url: str) -> Read:
    from openai import OpenAI

    asked: Any = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream_options": {"include_usage": True},
    }
    with (
        OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client,
        client.chat.completions.stream(**asked) as stream,
    ):
        completion = stream.get_final_completion()
    message, usage = completion.choices[0].message, completion.usage
    extra: Data = message.model_extra or {}
    assert usage is not None
    return (
        extra.get("reasoning_content") or "",
        message.content or "",
        [(one.id, one.function.name, json.loads(one.function.arguments)) for one in message.tool_calls or ()],
        usage.prompt_tokens,
        usage.completion_tokens,
    )


def _read_responses(url: str) -> Read:
    from openai import OpenAI

    with (
        OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client,
        client.responses.stream(model="m", input="hi") as stream,
    ):
        response = stream.get_final_response()
    usage = response.usage
    assert usage is not None
    thoughts = [part.text for item in response.output if item.type == "reasoning" for part in item.summary]
    calls: list[Any] = [item for item in response.output if item.type == "function_call"]
    return (
        "\n\n".join(thoughts),
        response.output_text,
        [(item.call_id, item.name, json.loads(item.arguments)) for item in calls],
        usage.input_tokens,
        usage.output_tokens,
    )


@every_wire
def test_a_vendors_client_reads_from_a_stream_what_we_read(wire: str):
    stream = STREAMS[wire]
    with wire_server(Answer([stream])) as server:
        theirs = what_they_read(wire, server.url)
    assert what_we_read(decode(DECODERS[wire](), [stream])) == theirs


@every_wire
def test_the_strict_server_speaks_as_the_vendors_client_expects(wire: str):
    reply = Reply(
        think("hm", signature="sig"),
        say("hello world"),
        call("Read", id="call_00000000000000001", path="a"),
        usage=Usage(10, 5, 90, 0),
    )
    with StrictServer(reply) as server:
        theirs = what_they_read(wire, server.url)
    assert theirs == ("hm", "hello world", [("call_00000000000000001", "Read", {"path": "a"})], 100, 5)


def test_every_event_of_the_strict_server_is_of_the_type_that_the_vendor_declares():
    from openai.types.responses import ResponseStreamEvent
    from pydantic import TypeAdapter

    reply = Reply(think("hm", signature="sig"), say("hello"), call("Read", id="call_1", path="a"))
    with StrictServer(reply) as server:
        _, stream, _ = ask(server.url, "/v1/responses", {"model": "m", "input": "hi", "stream": True})
    judge: Any = TypeAdapter(ResponseStreamEvent)
    kinds = {judge.validate_python(event).type for event in data_of(stream)}
    assert {"response.created", "response.output_item.done", "response.completed"} <= kinds

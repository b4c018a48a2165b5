"""The same little reply on each of the three wires, for promises that hold whichever a model speaks."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.providers import anthropic_stream as anthropic
from tests.providers import openai_stream as chat
from tests.providers import responses_stream as responses
from tests.providers.requests import blocks_of, decode, facts

from ostinato.events import AnyModelEvent
from ostinato.messages import AssistantBlock
from ostinato.ports import RequestMessage
from ostinato.providers.anthropic import AnthropicModel, AnthropicReply
from ostinato.providers.calls import CallIds
from ostinato.providers.openai_chat import OpenAIChatModel, OpenAIChatReply
from ostinato.providers.openai_responses import OpenAIResponsesModel, OpenAIResponsesReply
from ostinato.providers.streaming import ReplyDecoder

NetworkModel = AnthropicModel | OpenAIChatModel | OpenAIResponsesModel


@dataclass(frozen=True)
class Call:
    """A call as a server sends it: its arguments are raw JSON, in these pieces."""

    call_id: str
    name: str
    pieces: Sequence[str]


@dataclass(frozen=True)
class Wire:
    """`text` and `calls` are whole streams; `decoder` reads one, after these messages; `model` sends to an address. `simple` says
    hi, `golden` has everything in it; neither is over before `end` has come. `response_id` is what all of them are sent under.
    """

    text: Callable[[Sequence[str]], bytes]
    calls: Callable[[Sequence[Call]], bytes]
    decoder: Callable[[Sequence[RequestMessage]], ReplyDecoder]
    model: Callable[[str], NetworkModel]
    simple: bytes
    golden: bytes
    end: bytes
    response_id: str

    def said(
        self, *calls: Call, after: Sequence[RequestMessage] = ()
    ) -> tuple[list[AssistantBlock], list[AnyModelEvent]]:
        """The blocks and all events of a whole reply that makes these calls."""
        events = decode(self.decoder(after), [self.calls(calls)])
        return blocks_of(events), events


def _anthropic_text(pieces: Sequence[str]) -> bytes:
    said = [anthropic.text(piece) for piece in pieces]
    return _escaped([
        anthropic.START,
        anthropic.opened_text(),
        *said,
        anthropic.closed(),
        anthropic.ended(),
        anthropic.STOP,
    ])


def _anthropic_calls(calls: Sequence[Call]) -> bytes:
    events = [anthropic.START]
    for place, call in enumerate(calls):
        events.append(anthropic.opened(place, type="tool_use", id=call.call_id, name=call.name, input={}))
        events += [anthropic.arguments(piece, place) for piece in call.pieces]
        events.append(anthropic.closed(place))
    return _escaped([*events, anthropic.ended("tool_use"), anthropic.STOP])


def _chat_text(pieces: Sequence[str]) -> bytes:
    return b"".join(_data({"content": piece}) for piece in pieces) + _data({}, "stop") + chat.DONE


def _chat_calls(calls: Sequence[Call]) -> bytes:
    stream = b""
    for place, call in enumerate(calls):
        stream += _data({"tool_calls": [chat.piece(place, call.call_id, call.name, "")]})
        stream += b"".join(
            _data({"tool_calls": [chat.piece(place, None, None, piece)]}) for piece in call.pieces
        )
    return stream + _data({}, "tool_calls") + chat.DONE


def _responses_text(pieces: Sequence[str]) -> bytes:
    whole = "".join(pieces)
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    deltas = [
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "delta": piece}
        for piece in pieces
    ]
    done: dict[str, Any] = item | {"content": [{"type": "output_text", "text": whole, "annotations": []}]}
    return _escaped([
        responses.CREATED,
        responses.added(0, **item, content=[]),
        *deltas,
        responses.done(0, **done),
        {"type": "response.completed", "response": responses.response("completed", output=[done])},
    ])


def _responses_calls(calls: Sequence[Call]) -> bytes:
    events: list[Mapping[str, Any]] = [responses.CREATED]
    output: list[Mapping[str, Any]] = []
    for place, call in enumerate(calls):
        item = {"id": f"fc_{place}", "type": "function_call", "call_id": call.call_id, "name": call.name}
        events.append(responses.added(place, **item, arguments=""))
        events += [
            {
                "type": "response.function_call_arguments.delta",
                "output_index": place,
                "item_id": f"fc_{place}",
                "delta": piece,
            }
            for piece in call.pieces
        ]
        output.append(item | {"arguments": "".join(call.pieces)})
        events.append(responses.done(place, **output[-1]))
    ended = {"type": "response.completed", "response": responses.response("completed", output=output)}
    return _escaped([*events, ended])


def _escaped(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Everything beyond ASCII as `\\uXXXX`, as many servers send it: half a surrogate pair can travel so too."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode()) for event in events
    )


def _data(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: %s\n\n" % json.dumps({"id": chat.RESPONSE_ID, "model": "m", "choices": [choice]}).encode()


WIRES: Mapping[str, Wire] = {
    "anthropic": Wire(
        _anthropic_text,
        _anthropic_calls,
        lambda messages: AnthropicReply(facts("anthropic"), CallIds(messages)),
        lambda url: AnthropicModel(facts("anthropic"), base_url=url),
        anthropic.SIMPLE,
        anthropic.GOLDEN,
        end=b"message_stop",
        response_id="msg_1",
    ),
    "chat": Wire(
        _chat_text,
        _chat_calls,
        lambda messages: OpenAIChatReply(facts("openai"), CallIds(messages), 1000),
        lambda url: OpenAIChatModel(facts("openai"), base_url=url),
        chat.SIMPLE,
        chat.GOLDEN,
        end=b'"finish_reason": "',
        response_id=chat.RESPONSE_ID,
    ),
    "responses": Wire(
        _responses_text,
        _responses_calls,
        lambda messages: OpenAIResponsesReply(facts("openai"), CallIds(messages)),
        lambda url: OpenAIResponsesModel(facts("openai"), base_url=url),
        responses.SIMPLE,
        responses.GOLDEN,
        end=b"response.completed",
        response_id=responses.RESPONSE_ID,
    ),
}

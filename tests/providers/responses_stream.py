"""Events of the Responses wire as bytes, written down by hand: what the tests' recorded streams are made of."""

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

RESPONSE_ID = "resp_0123456789abcdef"
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 90, "cache_write_tokens": 4},
    "output_tokens": 17,
    "output_tokens_details": {"reasoning_tokens": 10},
    "total_tokens": 117,
}

Data = Mapping[str, Any]


def sse(*events: Data) -> bytes:
    """Events as the service frames and numbers them."""
    numbers = count()
    return b"".join(
        b"event: %s\ndata: %s\n\n"
        % (
            event["type"].encode(),
            json.dumps({**event, "sequence_number": next(numbers)}, ensure_ascii=False).encode(),
        )
        for event in events
    )


def response(status: str = "in_progress", **fields: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "id": RESPONSE_ID,
        "object": "response",
        "created_at": 1,
        "model": "model-1-dated",
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [],
        "usage": None,
    }
    return whole | fields


CREATED: Data = {"type": "response.created", "response": response()}


def added(place: int, **item: Any) -> Data:
    return {"type": "response.output_item.added", "output_index": place, "item": item}


def done(place: int, **item: Any) -> Data:
    return {"type": "response.output_item.done", "output_index": place, "item": item}


def message(place: int, *texts: str, **fields: Any) -> dict[str, Any]:
    """A message item; without texts, as it begins."""
    content: list[dict[str, Any]] = [
        {"type": "output_text", "text": text, "annotations": [], "logprobs": []} for text in texts
    ]
    status = "completed" if texts else "in_progress"
    return {
        "type": "message",
        "id": f"msg_{place}",
        "role": "assistant",
        "status": status,
        "content": content,
    } | fields


def function_call(place: int, name: str = "Read", arguments: Any = "", **fields: Any) -> dict[str, Any]:
    call = {"type": "function_call", "id": f"fc_{place}", "call_id": f"call_{place}", "status": "completed"}
    return call | {"name": name, "arguments": arguments} | fields


def reasoning(place: int, *summary: str, **fields: Any) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {
        "type": "reasoning",
        "id": f"rs_{place}",
        "summary": parts,
        "encrypted_content": "sealed",
    } | fields


def text(piece: str, place: int = 0, part: int = 0) -> Data:
    event = {"type": "response.output_text.delta", "item_id": f"msg_{place}", "output_index": place}
    return event | {"content_index": part, "delta": piece, "logprobs": []}


def refusal(piece: str, place: int = 0) -> Data:
    return {**text(piece, place), "type": "response.refusal.delta"}


def summary(piece: str, place: int = 0, part: int = 0) -> Data:
    event = {"type": "response.reasoning_summary_text.delta", "item_id": f"rs_{place}", "output_index": place}
    return event | {"summary_index": part, "delta": piece}


def arguments(piece: str, place: int = 0) -> Data:
    event = {
        "type": "response.function_call_arguments.delta",
        "item_id": f"fc_{place}",
        "output_index": place,
    }
    return event | {"delta": piece}


def ended(status: str = "completed", **fields: Any) -> Data:
    return {"type": f"response.{status}", "response": response(status, **{"usage": USAGE, **fields})}


def incomplete(reason: str | None) -> Data:
    return ended("incomplete", incomplete_details={"reason": reason})


GOLDEN_OUTPUT = [
    reasoning(0, "**Plan**\n\n考える", "**Act**"),
    message(1, "日本語 🙂"),
    function_call(2, "Read", '{"path": "a.txt"}'),
    function_call(3, "Read", '{"path": "b"}'),
]
GOLDEN = sse(
    CREATED,
    {"type": "response.in_progress", "response": response()},
    added(0, **reasoning(0, encrypted_content="half")),
    {
        "type": "response.reasoning_summary_part.added",
        "item_id": "rs_0",
        "output_index": 0,
        "summary_index": 0,
        "part": {"type": "summary_text", "text": ""},
    },
    summary("**Plan**\n\n"),
    summary("考える"),
    summary("**Act**", part=1),
    done(0, **GOLDEN_OUTPUT[0]),
    added(1, **message(1)),
    {
        "type": "response.content_part.added",
        "item_id": "msg_1",
        "output_index": 1,
        "content_index": 0,
        "part": {"type": "output_text", "text": "", "annotations": [], "logprobs": []},
    },
    text("日本語 ", 1),
    text("🙂", 1),
    {
        "type": "response.output_text.done",
        "item_id": "msg_1",
        "output_index": 1,
        "content_index": 0,
        "text": "日本語 🙂",
        "logprobs": [],
    },
    done(1, **GOLDEN_OUTPUT[1]),
    added(2, **function_call(2, status="in_progress")),
    arguments('{"path": "a', 2),
    arguments('.txt"}', 2),
    {
        "type": "response.function_call_arguments.done",
        "item_id": "fc_2",
        "output_index": 2,
        "name": "Read",
        "arguments": '{"path": "a.txt"}',
    },
    done(2, **GOLDEN_OUTPUT[2]),
    added(3, **function_call(3, status="in_progress")),
    arguments('{"path": "b"}', 3),
    done(3, **GOLDEN_OUTPUT[3]),
    ended(output=GOLDEN_OUTPUT),
)
"""Reasoning in two parts, text beyond ASCII and two tool calls: a reply with everything in it."""
SIMPLE_OUTPUT = [message(0, "hi")]
SIMPLE = sse(
    CREATED, added(0, **message(0)), text("hi"), done(0, **SIMPLE_OUTPUT[0]), ended(output=SIMPLE_OUTPUT)
)

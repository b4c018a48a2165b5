"""Events of the Anthropic wire as bytes, written down by hand: what the tests' recorded streams are made of."""

import json
from collections.abc import Mapping
from typing import Any


def sse(*events: Mapping[str, Any]) -> bytes:
    """Events as the service frames them."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event, ensure_ascii=False).encode())
        for event in events
    )


START: Mapping[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "model-1-dated",
        "content": [],
        "stop_reason": None,
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 90,
            "cache_creation_input_tokens": 5,
            "output_tokens": 1,
        },
    },
}
PING: Mapping[str, Any] = {"type": "ping"}
STOP: Mapping[str, Any] = {"type": "message_stop"}


def opened(index: int, **block: Any) -> Mapping[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def opened_text(index: int = 0) -> Mapping[str, Any]:
    return opened(index, type="text", text="")


def opened_call(index: int = 0, call_id: str = "toolu_1") -> Mapping[str, Any]:
    """As llama.cpp sends it: without `input`."""
    return opened(index, type="tool_use", id=call_id, name="Read")


def delta(index: int, kind: str, **fields: Any) -> Mapping[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def text(piece: str, index: int = 0) -> Mapping[str, Any]:
    return delta(index, "text_delta", text=piece)


def arguments(piece: str, index: int = 0) -> Mapping[str, Any]:
    return delta(index, "input_json_delta", partial_json=piece)


def closed(index: int = 0) -> Mapping[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ended(reason: str | None = "end_turn", **usage: int) -> Mapping[str, Any]:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": usage or {"output_tokens": 7},
    }


GOLDEN = sse(
    START,
    PING,
    opened(0, type="thinking", thinking="", signature=""),
    delta(0, "thinking_delta", thinking="考える"),
    delta(0, "signature_delta", signature="sig-"),
    delta(0, "signature_delta", signature="1"),
    closed(0),
    opened_text(1),
    text("日本語 ", 1),
    text("🙂", 1),
    closed(1),
    opened_call(2),
    arguments("", 2),
    arguments('{"path": "a', 2),
    arguments('.txt"}', 2),
    closed(2),
    ended("tool_use"),
    STOP,
)
"""Thinking, text beyond ASCII and a tool call: a reply with everything in it."""
SIMPLE = sse(START, opened_text(), text("hi"), closed(), ended(), STOP)

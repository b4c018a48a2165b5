"""Chunks of the Chat Completions wire as bytes, written down by hand: what the tests' recorded streams are made of."""

import json
from collections.abc import Mapping
from typing import Any

RESPONSE_ID = "chatcmpl-0123456789abcdef"
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 90},
    "total_tokens": 107,
}
DONE = b"data: [DONE]\n\n"


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **fields: Any) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish, "logprobs": None}
    data = {
        "id": RESPONSE_ID,
        "object": "chat.completion.chunk",
        "model": "model-1-dated",
        "choices": [choice],
    }
    return b"data: %s\n\n" % json.dumps(data | fields, ensure_ascii=False).encode()


def calls(*pieces: Mapping[str, Any]) -> bytes:
    return chunk({"tool_calls": list(pieces)})


def piece(
    index: int | None = None, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> Mapping[str, Any]:
    """A delta of a tool call, with only the fields that were given."""
    function = {"name": name, "arguments": arguments}
    fields = {"index": index, "id": call_id, "function": {k: v for k, v in function.items() if v is not None}}
    return {key: value for key, value in fields.items() if value is not None}


def usage(**fields: Any) -> bytes:
    return chunk(choices=[], usage=USAGE | fields)


GOLDEN = b"".join([
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "考える"}),
    chunk({"content": "日本語 "}),
    chunk({"content": "🙂"}),
    calls(piece(0, "call_a", "Read", "")),
    calls(piece(0, None, None, '{"path": "a')),
    calls(piece(0, None, None, '.txt"}')),
    calls(piece(1, "call_b", "Read", '{"path": "b"}')),
    chunk(finish="tool_calls"),
    usage(),
    DONE,
])
"""Thinking, text beyond ASCII and two tool calls: a reply with everything in it."""
SIMPLE = chunk({"content": "hi"}) + chunk(finish="stop") + usage() + DONE

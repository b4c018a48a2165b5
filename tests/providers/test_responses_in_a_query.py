"""A whole query over the Responses wire: what the model thought goes back with each request, and every request is legal."""

import json
from pathlib import Path
from typing import Any

from ostinato.engine.query import query
from ostinato.testing import Reply, StrictServer, call, say, terminal, think, think_hidden
from ostinato.testing.wire_json import as_dicts

TURNS = (
    Reply(think("first I look", signature="sealed-1"), say("I look."), call("Read", "call_1", file_path="a.txt")),
    Reply(think_hidden("sealed-2"), call("Read", "call_2", file_path="b.txt"), call("Read", "call_3", file_path="a.txt")),
    Reply(think("done", signature="sealed-3"), say("Both say hello.")),
)  # fmt: skip


def environment(server: StrictServer, home: Path) -> dict[str, str]:
    return {"HOME": str(home), "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}


async def events_of(server: StrictServer, home: Path, model: str) -> list[Any]:
    for name in ("a.txt", "b.txt"):
        (home / name).write_text("hello\n", encoding="utf-8")
    asked = query("compare a.txt and b.txt", cwd=home, model=model, environment=environment(server, home))
    return [event async for event in asked]


async def test_thoughts_go_back_with_the_calls_they_led_to(tmp_path: Path):
    with StrictServer(*TURNS) as server:
        events = await events_of(server, tmp_path, "openai-responses/gpt-5.5")
        server.assert_clean()
        requests = list(server.requests)
    assert terminal(events).reason == "completed"
    assert {sent.path for sent in requests} == {"/v1/responses"}
    items = as_dicts(requests[-1].body["input"])
    kinds = [item["type"] for item in items if item.get("role") != "user"]
    assert kinds == [
        "reasoning", "message", "function_call", "function_call_output",
        "reasoning", "function_call", "function_call", "function_call_output", "function_call_output",
    ]  # fmt: skip
    sealed = [item["encrypted_content"] for item in items if item["type"] == "reasoning"]
    assert sealed == ["sealed-1", "sealed-2"]
    assert len({sent.body["prompt_cache_key"] for sent in requests}) == 1
    first, last = (json.dumps(sent.body["input"]) for sent in (requests[0], requests[-1]))
    assert last.startswith(first[:-1])  # each request extends the one before


async def test_a_server_of_ones_own_gets_the_other_wire(tmp_path: Path):
    with StrictServer(*TURNS) as server:
        events = await events_of(server, tmp_path, "gpt-5.5")
        server.assert_clean()
        assert {sent.path for sent in server.requests} == {"/v1/chat/completions"}
    assert terminal(events).reason == "completed"

"""A tool's schema is foreign data: one that can be sent is sent and its calls get an answer, one that cannot is refused by name."""

from pathlib import Path
from typing import Any

import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.errors import UsageError
from ostinato.events import Result, UserEvent
from ostinato.invariants import tool_problems
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say

NODE: dict[str, Any] = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"children": schema}}
    return schema


SENT: dict[str, dict[str, Any]] = {
    "a tree": {**NODE, "$defs": {"node": NODE}},
    "two that hold one another": {
        "type": "object",
        "properties": {"children": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}},
    },
    "itself": {"type": "object", "properties": {"children": {"$ref": "#"}}},
    "nowhere": {"type": "object", "properties": {"children": {"$ref": "#/$defs/gone"}}},
    "somewhere else": {"type": "object", "properties": {"children": {"$ref": "https://example.com/s.json"}}},
    "deep": nested(150),
    "odd words": {
        "type": "object",
        "properties": {"children": {"type": 5, "enum": 3, "items": True, "properties": [], "required": "x"}},
        "required": {"children": 1},
    },
    "truth instead of a schema": {"type": "object", "properties": {"children": True}},
    "null properties": {"type": "object", "properties": None, "required": None},
    "a choice": {"type": "object", "anyOf": [{"type": "object"}]},
}
REPAIRED = {"nowhere", "somewhere else", "odd words", "null properties", "a choice"}


def round_trip() -> dict[str, Any]:
    circle: dict[str, Any] = {"type": "object", "properties": {}}
    circle["properties"]["children"] = circle
    return circle


REFUSED: dict[str, Any] = {
    "objects in a circle": round_trip(),
    "no JSON": {"type": "object", "properties": {"children": {"default": object()}}},
    "a name that is no text": {"type": "object", "properties": {(1, 2): {}}},
    "without a bottom": nested(100_000),
    "a list": {"type": "array"},
    "a choice without an object": {"anyOf": [{"type": "string"}]},
}
GIVEN: list[Any] = ["x", 1, None, [], [{"children": [{"children": []}]}], {"children": {"children": 1}}]


def options(folder: Path, schema: dict[str, Any], model: ScriptedModel) -> Options:
    tool = fake_tool("Foreign", input_schema=schema)
    return Options(
        cwd=folder,
        model=model,
        environment={"HOME": str(folder)},
        extra_tools=(tool,),
        permission_mode="bypassPermissions",
        keep_session=False,
    )


@pytest.mark.parametrize("kind", SENT)
async def test_a_schema_that_is_json_is_sent_and_each_call_is_answered(tmp_path: Path, kind: str):
    calls = [call("Foreign", f"t{number}", children=value) for number, value in enumerate(GIVEN)]
    model = ScriptedModel(Reply(*calls), Reply(say("done")))
    async with open_engine(options(tmp_path, SENT[kind], model)) as engine:
        events = [event async for event in engine.submit_message("go")]
    (result,) = [event for event in events if isinstance(event, Result)]
    assert not result.errors
    assert sum(len(event.message.content) for event in events if isinstance(event, UserEvent)) == len(GIVEN)
    (sent,) = [tool for tool in model.requests[0].tools if tool.name == "Foreign"]
    assert (sent.input_schema == SENT[kind]) is (kind not in REPAIRED)
    assert not tool_problems((sent,))


@pytest.mark.parametrize("kind", REFUSED)
async def test_a_schema_that_nobody_could_send_is_refused_by_name_before_anything_is_sent(
    tmp_path: Path, kind: str
):
    with pytest.raises(UsageError, match="Foreign"):
        async with open_engine(options(tmp_path, REFUSED[kind], ScriptedModel(Reply(say("no"))))):
            pass

"""Tools from elsewhere, on every wire: the good one is usable, the odd ones are repaired, and what cannot be sent is all named at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import ostinato
from ostinato.errors import UsageError
from ostinato.events import Event, UserEvent
from ostinato.messages import ToolResult
from ostinato.testing import (
    Reply,
    RunLog,
    ScriptedModel,
    Started,
    StrictServer,
    call,
    fake_tool,
    say,
    terminal,
)
from ostinato.tool import Tool
from ostinato.tool_names import fitting_names

MODELS = ["anthropic/claude-sonnet-4-5", "openai/gpt-5", "openai/gpt-4.1"]
NODE: dict[str, Any] = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
}
ONE: dict[str, Any] = {"type": "object", "properties": {"one": {"type": "string"}}, "required": ["one"]}
TWO: dict[str, Any] = {"type": "object", "properties": {"two": {"type": "string"}}, "required": ["two"]}
SENT: Mapping[str, dict[str, Any]] = {
    "Good": ONE,
    "Choice": {"anyOf": [ONE, TWO]},
    "OneOf": {"oneOf": [ONE, TWO]},
    "AllOf": {"allOf": [ONE, {"properties": {"more": {}}}]},
    "ObjectOrNull": {**ONE, "type": ["object", "null"]},
    "Missing": {},
    "Tree": {**NODE, "$defs": {"node": NODE}},
    "TreeAtTop": {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
    "Itself": {"type": "object", "properties": {"x": {"$ref": "#"}}},
    "Nowhere": {"type": "object", "properties": {"x": {"$ref": "#/$defs/gone"}}},
    "Elsewhere": {"type": "object", "properties": {"x": {"$ref": "https://example.com/s.json"}}},
}


def tools_of(schemas: Mapping[str, dict[str, Any]], log: RunLog | None = None) -> list[Tool]:
    return [fake_tool(name, log=log, input_schema=schema) for name, schema in schemas.items()]


async def events_of(tmp_path: Path, tools: Sequence[Tool] | None, **more: Any) -> list[Event]:
    options: dict[str, Any] = {
        "cwd": tmp_path,
        "keep_session": False,
        "tools": tools,
        "environment": {"HOME": str(tmp_path)},
        "permission_mode": "bypassPermissions",
        **more,
    }
    return [event async for event in ostinato.query("go", **options)]


def results_in(events: Sequence[Event]) -> dict[str, ToolResult]:
    blocks = [block for event in events if isinstance(event, UserEvent) for block in event.message.content]
    return {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}


@pytest.mark.parametrize("model", MODELS)
async def test_every_tool_of_a_foreign_list_is_taken_and_called(tmp_path: Path, model: str):
    log = RunLog()
    calls = [call(name, f"t{number}", one="x") for number, name in enumerate(SENT)]
    with StrictServer(Reply(*calls), Reply(say("done"))) as server:
        environment = {
            "HOME": str(tmp_path),
            "ANTHROPIC_API_KEY": "k",
            "OPENAI_API_KEY": "k",
            "ANTHROPIC_BASE_URL": server.url,
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OSTINATO_MAX_RETRIES": "0",
        }
        events = await events_of(tmp_path, tools_of(SENT, log), model=model, environment=environment)
    assert terminal(events).reason == "completed"
    assert [entry.name for entry in log.entries if isinstance(entry, Started)] == list(SENT)


async def test_an_input_that_no_choice_of_the_original_takes_does_not_reach_the_tool(tmp_path: Path):
    log = RunLog()
    model = ScriptedModel(
        Reply(call("Choice", "t1", three="x"), call("Choice", "t2", two="x")), Reply(say("done"))
    )
    results = results_in(await events_of(tmp_path, tools_of(SENT, log), model=model))
    assert (results["t1"].is_error, results["t2"].is_error) == (True, False)
    assert [entry.tool_use_id for entry in log.entries if isinstance(entry, Started)] == ["t2"]


async def test_all_that_cannot_be_sent_is_named_at_once_and_nothing_is_sent(tmp_path: Path):
    model = ScriptedModel(Reply(say("no")))
    long_name = "mcp__" + "s" * 40 + "__" + "t" * 40
    names = ["Good", "Good", "list files", "größe", "", long_name]
    tools = [*(fake_tool(name) for name in names), fake_tool("List", input_schema={"type": "array"})]
    with pytest.raises(UsageError) as caught:
        await events_of(tmp_path, tools, model=model)
    for name in ["`Good`", "`list files`", "`größe`", "``", f"`{long_name}`", "`List`"]:
        assert name in caught.value.message
    for proposed, name in zip(fitting_names(names), names, strict=True):
        assert proposed == name or f"`{proposed}`" in caught.value.message
    assert not model.requests


async def test_the_name_of_a_built_in_tool_is_not_free(tmp_path: Path):
    with pytest.raises(UsageError, match="`Read`"):
        await events_of(
            tmp_path, None, extra_tools=[fake_tool("Read")], model=ScriptedModel(Reply(say("no")))
        )


async def test_the_proposed_names_reach_their_tools_and_a_rule_by_such_a_name_counts(tmp_path: Path):
    log = RunLog()
    names = fitting_names(["x" * 64 + "a", "x" * 64 + "b", "list files", "größe"])
    model = ScriptedModel(
        Reply(*(call(name, f"t{number}") for number, name in enumerate(names))), Reply(say("done"))
    )
    events = await events_of(
        tmp_path,
        [fake_tool(name, log=log) for name in names],
        model=model,
        permission_mode="default",
        allowed_tools=[names[1], names[3]],
    )
    ran = [(entry.name, entry.tool_use_id) for entry in log.entries if isinstance(entry, Started)]
    assert ran == [(names[1], "t1"), (names[3], "t3")]
    assert results_in(events)["t0"].is_error


@pytest.mark.parametrize("characters", [2_000, 30_000])
async def test_a_long_description_is_sent_whole(tmp_path: Path, characters: int):
    tool = ostinato.build_tool(
        "Long", description="d" * characters, input_schema=ONE, call=fake_tool("Long").call
    )
    model = ScriptedModel(Reply(say("done")))
    await events_of(tmp_path, None, extra_tools=[tool], model=model)
    assert [len(one.description) for one in model.requests[0].tools if one.name == "Long"] == [characters]


async def test_a_description_that_would_fill_the_window_waits_to_be_found(tmp_path: Path):
    tool = ostinato.build_tool(
        "Long", description="d" * 100_000, input_schema=ONE, call=fake_tool("Long").call
    )
    model = ScriptedModel(Reply(say("done")))
    await events_of(tmp_path, None, extra_tools=[tool], model=model)
    assert [one.name for one in model.requests[0].tools if one.name in {"Long", "ToolSearch"}] == [
        "ToolSearch"
    ]

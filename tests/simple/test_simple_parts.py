"""The parts that the teaching loop schedules: the stream, the conversation, and the key from the environment."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from ostinato.errors import ConfigurationError, UsageError
from ostinato.events import BlockStop, MessageStop
from ostinato.messages import Text, ToolResult, UserMessage, user_prompt
from ostinato.ports import RequestMessage
from ostinato.simple import (
    ConversationManager,
    Parts,
    agentic_loop,
    execute_all_tools,
    get_tool_schemas,
    stream_query,
    to_anthropic_tools,
)
from ostinato.simple.stream import model_from_key
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say
from ostinato.tool import Tool
from ostinato.tool_admission import admitted

KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
)


async def test_a_streamed_call_takes_messages_prompt_and_tools_and_ends_with_the_usage():
    model = ScriptedModel(Reply(say("hi")))
    messages = [RequestMessage("user", (Text("go"),))]
    tools = get_tool_schemas({"Look": fake_tool("Look")})
    events = [event async for event in stream_query(messages, "Be brief.", tools, model=model)]
    (request,) = model.requests
    assert list(request.messages) == messages
    assert request.system == ("Be brief.",)
    assert [tool.name for tool in request.tools] == ["Look"]
    assert [event.block for event in events if isinstance(event, BlockStop)] == [Text("hi")]
    assert isinstance(events[-1], MessageStop)


async def test_a_conversation_goes_on_over_several_loops():
    talk = ConversationManager([user_prompt("p", "first")])
    model = ScriptedModel(Reply(call("Look", "t1")), Reply(say("done")), Reply(say("again done")))
    parts = Parts(model=model, registry={"Look": fake_tool("Look")}, conversation=talk)
    await agentic_loop([], parts=parts)
    talk.add_user("second")
    await agentic_loop([], parts=parts)
    sent = model.requests[2].messages
    assert [message.role for message in sent] == ["user", "assistant", "user", "assistant", "user"]
    assert sent[-1].content == (Text("second"),)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError):
        model_from_key()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert model_from_key().facts.provider == "anthropic"


REPAIRABLE: tuple[Mapping[str, Any], ...] = (
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}},
    {"properties": {"a": {"type": "string"}}},
)
NOBODY_TAKES: tuple[Tool, ...] = (
    replace(fake_tool("Look"), name="look at it"),
    replace(fake_tool("Look"), input_schema={"type": "array"}),
)


@pytest.mark.parametrize("schema", REPAIRABLE)
async def test_a_schema_is_sent_as_every_provider_takes_it_and_the_call_is_checked_by_its_own(
    schema: Mapping[str, Any],
):
    tool = replace(fake_tool("Look"), input_schema=schema)
    model = ScriptedModel(Reply(call("Look", "t1", c=1)), Reply(say("done")))
    result = await agentic_loop([user_prompt("p", "go")], parts=Parts(model=model, registry={"Look": tool}))
    (as_sent,) = admitted((tool,))
    assert [one.input_schema for one in model.requests[0].tools] == [as_sent.input_schema]
    assert as_sent.input_schema != schema
    assert result.reason == "completed"
    answers = [message for message in result.final_messages if isinstance(message, UserMessage)]
    assert isinstance(answers[-1].content[0], ToolResult)
    if "anyOf" in schema:
        assert answers[-1].content[0].is_error


@pytest.mark.parametrize("tool", NOBODY_TAKES)
async def test_a_tool_that_no_provider_takes_is_named_and_nothing_is_sent(tool: Tool):
    model = ScriptedModel(Reply(say("never")))
    registry = {"Good": fake_tool("Good"), tool.name: tool}
    result = await agentic_loop([user_prompt("p", "go")], parts=Parts(model=model, registry=registry))
    assert result.reason == "error"
    assert tool.name in result.error
    assert model.requests == []
    for use in (get_tool_schemas, to_anthropic_tools):
        with pytest.raises(UsageError, match=tool.name):
            use(registry)
    with pytest.raises(UsageError, match=tool.name):
        await execute_all_tools([], registry=registry)

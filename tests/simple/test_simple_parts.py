"""The parts that the teaching loop schedules: the stream, the conversation, and the key from the environment."""

import pytest

from ostinato.errors import ConfigurationError
from ostinato.events import BlockStop, MessageStop
from ostinato.messages import Text, user_prompt
from ostinato.ports import RequestMessage
from ostinato.simple import ConversationManager, Parts, agentic_loop, get_tool_schemas, stream_query
from ostinato.simple.stream import model_from_key
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say

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

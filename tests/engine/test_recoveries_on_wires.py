"""Recoveries over real connections: what is sent on is legal for each provider, judged by the strict server."""

from pathlib import Path
from typing import Any

import pytest

from ostinato import Options
from ostinato.engine.assemble import open_engine
from ostinato.events import Event
from ostinato.ports import ModelFacts
from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.openai_chat import OpenAIChatModel
from ostinato.providers.openai_responses import OpenAIResponsesModel
from ostinato.testing import (
    Reply,
    StrictServer,
    broken_call,
    call,
    fake_tool,
    result,
    say,
    terminal,
    transitions,
)

ADAPTERS = {"anthropic": AnthropicModel, "openai": OpenAIChatModel, "responses": OpenAIResponsesModel}


def model_on(wire: str, url: str) -> AnthropicModel | OpenAIChatModel | OpenAIResponsesModel:
    facts = ModelFacts("anthropic" if wire == "anthropic" else "openai", "model-1", 200_000, 8_000)
    return ADAPTERS[wire](facts, base_url=url, api_key="key-1", settings=HttpSettings())


async def play(tmp_path: Path, wire: str, server: StrictServer, *prompts: str) -> list[list[Event]]:
    """A conversation; the events of each prompt."""
    more: dict[str, Any] = {"keep_session": False, "environment": {"HOME": str(tmp_path)}}
    model = model_on(wire, server.url)
    options = Options(cwd=tmp_path, model=model, tools=[fake_tool("Look")], **more)
    try:
        async with open_engine(options) as engine:
            return [[event async for event in engine.submit_message(prompt)] for prompt in prompts]
    finally:
        await model.aclose()


@pytest.mark.parametrize("wire", ADAPTERS)
async def test_an_empty_reply_is_asked_about_on_every_wire(tmp_path: Path, wire: str):
    with StrictServer(Reply(), Reply(), Reply(say("here it is"))) as server:
        (events,) = await play(tmp_path, wire, server, "go")
        server.assert_clean()
    assert transitions(terminal(events)) == ("empty_response_retry",) * 2
    assert result(events).text == "here it is"


@pytest.mark.parametrize("wire", ADAPTERS)
async def test_a_refused_reply_is_not_sent_back_on_any_wire(tmp_path: Path, wire: str):
    with StrictServer(Reply(say("I would say"), stop_reason="refusal"), Reply(say("gladly"))) as server:
        refused, answered = await play(tmp_path, wire, server, "do this", "then that")
        server.assert_clean()
    assert terminal(refused).reason == "refused"
    assert result(answered).text == "gladly"
    assert "I would say" not in str(server.requests[-1].body)


@pytest.mark.parametrize("wire", ADAPTERS)
async def test_calls_that_cannot_be_read_leave_a_history_that_every_provider_takes(tmp_path: Path, wire: str):
    broken = [Reply(broken_call("Look", f"t{number}", '{"path": "a')) for number in range(3)]
    with StrictServer(*broken, Reply(say("yes"))) as server:
        given_up, answered = await play(tmp_path, wire, server, "look", "still there?")
        server.assert_clean()
    assert terminal(given_up).reason == "malformed_tool_use_exhausted"
    assert result(answered).text == "yes"


async def test_a_paused_reply_is_the_last_message_of_the_next_request(tmp_path: Path):
    with StrictServer(
        Reply(call("Look", "t1")),
        Reply(say("so far"), stop_reason="pause_turn"),
        Reply(say(" and on")),
        Reply(say("yes")),
    ) as server:
        paused, _ = await play(tmp_path, "anthropic", server, "go", "done?")
        server.assert_clean()
    assert transitions(terminal(paused)) == ("next_turn", "pause_turn_resume")
    assert result(paused).text == "so far and on"
    last = server.requests[2].body["messages"][-1]
    assert (last["role"], last["content"][0]["text"]) == ("assistant", "so far")

"""The model's provider searches while it answers: who gets it, what is kept of it, and what it costs."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ostinato import Options
from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options as EngineOptions
from ostinato.engine.web_access import search_of, searches_by_provider
from ostinato.events import Event, Result
from ostinato.messages import ProviderState, ServerBlock, Thinking, Usage
from ostinato.permissions.rules import parse_rule
from ostinato.ports import ModelFacts, Prices
from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.exchange import HttpSettings
from ostinato.testing import Reply, StrictServer, call, fake_tool, result, say, think

CLAUDE = ModelFacts("anthropic", "model-1", 200_000, 8_000, Prices(0, 0), searches_web=True)
CALL = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "bells"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {"type": "web_search_result", "url": "https://x.example/", "title": "X", "encrypted_content": "E"}
    ],
}


def block(part: Any, wire: dict[str, Any]) -> ServerBlock:
    return ServerBlock(part, "srvtoolu_1", "", ProviderState("", "", json.dumps(wire)))


SEARCHED = (block("call", CALL), block("result", FOUND))


class Talks:
    """Conversations of one home folder."""

    def __init__(self, folder: Path, server: StrictServer, facts: ModelFacts = CLAUDE) -> None:
        self.folder = folder
        self.server = server
        self.facts = facts

    async def play(self, *prompts: str, **more: Any) -> list[Event]:
        model = AnthropicModel(self.facts, base_url=self.server.url, api_key="key-1", settings=HttpSettings())
        options = Options(
            cwd=self.folder,
            model=model,
            extra_tools=[fake_tool("Look")],
            environment={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"},
            **more,
        )
        events: list[Event] = []
        try:
            async with open_engine(options) as engine:
                for prompt in prompts:
                    events += [event async for event in engine.submit_message(prompt)]
        finally:
            await model.aclose()
        return events

    def tools(self, number: int) -> list[dict[str, Any]]:
        return json.loads(json.dumps(self.server.requests[number].body))["tools"]

    def said(self, number: int, message: int) -> list[dict[str, Any]]:
        content = self.server.requests[number].body["messages"][message]["content"]
        return [{key: value for key, value in part.items() if key != "cache_control"} for part in content]


async def test_it_is_asked_for_kept_resumed_and_counted(tmp_path: Path):
    with StrictServer(
        Reply(*SEARCHED, say("in towers"), usage=Usage(10, 10, web_searches=2)),
        Reply(say("yes")),
        Reply(say("still")),
    ) as server:
        talks = Talks(tmp_path, server)
        events = await talks.play("when?", "sure?", web_search="provider", session_id="one")
        await talks.play("and now?", web_search="provider", resume="one")
        server.assert_clean()
    for number in range(3):
        names = [tool["name"] for tool in talks.tools(number)]
        assert names.count("web_search") == 1
        assert "WebSearch" not in names
        assert talks.tools(number)[-1]["type"] == "web_search_20250305"
    searched = [CALL, FOUND, {"type": "text", "text": "in towers"}]
    assert talks.said(1, 1) == searched
    assert talks.said(2, 1) == searched
    results = [event for event in events if isinstance(event, Result)]
    assert sum(one.usage.web_searches for one in results) == 2


async def test_a_reply_that_pauses_in_a_search_goes_on_in_it(tmp_path: Path):
    paused = Reply(say("let me see"), SEARCHED[0], stop_reason="pause_turn")
    with StrictServer(paused, Reply(SEARCHED[1], say("in towers")), Reply(say("yes"))) as server:
        talks = Talks(tmp_path, server)
        await talks.play("when?", "sure?", web_search="provider", keep_session=False)
        server.assert_clean()
    assert talks.said(1, 1) == [{"type": "text", "text": "let me see"}, CALL]
    assert talks.said(2, 1) == [
        {"type": "text", "text": "let me see"},
        CALL,
        FOUND,
        {"type": "text", "text": "in towers"},
    ]


@pytest.mark.parametrize("more", [(), (think("and", signature="s2"),)])
async def test_what_was_thought_before_a_pause_goes_back_with_the_calls_behind_it(
    more: tuple[Thinking, ...], tmp_path: Path
):
    paused = Reply(think("hm", signature="s1"), SEARCHED[0], stop_reason="pause_turn")
    rest = Reply(SEARCHED[1], *more, say("let me look"), call("Look", "t1"))
    with StrictServer(paused, rest, Reply(say("yes"))) as server:
        talks = Talks(tmp_path, server)
        await talks.play("when?", web_search="provider", allowed_tools=["Look"], keep_session=False)
        server.assert_clean()
    kinds = [part["type"] for part in talks.said(2, 1)]
    assert kinds.count("thinking") == 1 + len(more)
    assert {"server_tool_use", "web_search_tool_result", "tool_use"} < set(kinds)


@pytest.mark.parametrize("said", [(say("let me see"),), (think("hm", signature="s"),), ()])
async def test_a_reply_that_pauses_in_a_search_can_be_summarised_before_it_goes_on(
    tmp_path: Path, said: tuple[Any, ...]
):
    account = "<summary>The user wants to know when; the towers are being looked into.</summary>"
    asked: list[Any] = []

    def turn(body: dict[str, Any], _number: int) -> Reply:
        if "<analysis>" in str(body):
            asked.append(body)
            return Reply(say(account), usage=Usage(900, 20))
        if "tool_result" not in str(body):
            return Reply(call("Look", "t1"), usage=Usage(900, 20))
        if str(CALL["id"]) in str(body):
            return Reply(SEARCHED[1], say("in towers"), usage=Usage(900, 20))
        return Reply(*said, SEARCHED[0], stop_reason="pause_turn", usage=Usage(16_000, 20))

    with StrictServer(script=turn) as server:
        talks = Talks(tmp_path, server, replace(CLAUDE, context_window=20_000))
        events = await talks.play("when? " * 900, web_search="provider", allowed_tools=["Look"])
        server.assert_clean()
    assert result(events).text.endswith("in towers")
    (first,) = asked
    assert len(first["messages"]) >= 3
    assert str(CALL["id"]) not in str(first)


async def test_a_setting_can_wish_for_it(tmp_path: Path):
    with StrictServer(Reply(say("in towers"))) as server:
        talks = Talks(tmp_path, server)
        await talks.play("when?", settings={"web": {"search": {"url": "provider"}}}, keep_session=False)
    assert "web_search" in [tool["name"] for tool in talks.tools(0)]


async def test_without_the_wish_nothing_of_it_is_sent(tmp_path: Path):
    with StrictServer(Reply(say("in towers"))) as server:
        talks = Talks(tmp_path, server)
        await talks.play("when?", keep_session=False)
    assert "web_search" not in [tool["name"] for tool in talks.tools(0)]


ADDRESS = "https://searx.example/search?q={query}&format=json"


@pytest.mark.parametrize(
    ("facts", "deny", "environment", "is_provider", "has_service"),
    [
        (CLAUDE, "", {}, True, False),
        (CLAUDE, "WebSearch", {}, False, False),
        (ModelFacts("anthropic", "old", 1000, 100), "", {}, False, False),
        (ModelFacts("anthropic", "old", 1000, 100), "", {"OSTINATO_WEB_SEARCH_URL": ADDRESS}, False, True),
        (ModelFacts("openai", "x", 1000, 100, openai_wire="chat", searches_web=True), "", {}, False, False),
        (
            ModelFacts("openai", "x", 1000, 100, openai_wire="responses", searches_web=True),
            "",
            {},
            True,
            False,
        ),
    ],
    ids=["can", "denied", "cannot", "cannot, but there is a service", "wrong wire", "other provider"],
)
def test_who_searches(
    facts: ModelFacts, deny: str, environment: dict[str, str], is_provider: bool, has_service: bool
):
    options = EngineOptions(web_search="provider")
    rules = [parse_rule(deny, "deny", "test")] if deny else []
    assert searches_by_provider(options, facts, rules, environment) == is_provider
    assert (search_of(options, environment) is not None) == has_service


def test_the_environment_can_wish_for_it():
    environment = {"OSTINATO_WEB_SEARCH_URL": "provider"}
    assert searches_by_provider(EngineOptions(), CLAUDE, [], environment)
    assert search_of(EngineOptions(), environment) is None
    assert not searches_by_provider(EngineOptions(web_search=ADDRESS), CLAUDE, [], environment)

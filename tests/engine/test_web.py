"""The web in a whole conversation: rules decide by the host, the small model answers, and what is not set up is not offered."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.engine.test_stopping import options, play
from tests.web.page_server import PageServer, answer

from ostinato import Allow, Deny, Options, PermissionAsked
from ostinato.engine.assemble import open_engine
from ostinato.errors import ConfigurationError, ModelError, UsageError
from ostinato.events import SideUsage
from ostinato.testing import SCRIPTED_FACTS, Fails, Reply, ScriptedModel, call, result, say, terminal
from ostinato.web_pages import SearchHit, SearchQuery

PAGE = answer(200, b"<h1>Prices</h1><p>A pen is 2 EUR.</p>", content_type="text/html")


def fetching(url: str, **more: Any) -> ScriptedModel:
    return ScriptedModel(Reply(call("WebFetch", "t1", url=url, **more)), Reply(say("ok")))


def last(model: ScriptedModel) -> str:
    return str(model.requests[1].messages[-1])


def reading(tmp_path: Path, model: ScriptedModel, server: PageServer, **more: Any) -> Options:
    return options(tmp_path, model, web_private_hosts=[f"127.0.0.1:{server.port}"], **more)


async def test_a_rule_for_the_host_is_a_yes_and_no_rule_is_a_question(tmp_path: Path):
    with PageServer({"/": [PAGE]}) as server:
        model = fetching(f"{server.url}/")
        await play(reading(tmp_path, model, server, allowed_tools=["WebFetch(domain:127.0.0.1)"]))
        assert "A pen is 2 EUR." in last(model)
        asked: list[PermissionAsked] = []

        async def no(what: PermissionAsked) -> Allow | Deny:
            asked.append(what)
            return Deny("not there")

        await play(reading(tmp_path, fetching(f"{server.url}/"), server, can_use_tool=no))
        denied = fetching(f"{server.url}/")
        await play(
            reading(
                tmp_path,
                denied,
                server,
                permission_mode="bypassPermissions",
                disallowed_tools=["WebFetch(domain:127.0.0.1)"],
            )
        )
        assert len(server.requests) == 1
    assert [one.suggestions for one in asked] == [("WebFetch(domain:127.0.0.1)",)]
    assert "is_error=True" in last(denied)


async def test_what_is_not_public_is_not_read_even_where_everything_is_allowed(tmp_path: Path):
    with PageServer({"/": [PAGE]}) as server:
        model = fetching(f"{server.url}/")
        await play(options(tmp_path, model, permission_mode="bypassPermissions"))
        assert "web_private_hosts" in last(model)
        assert server.connections == 0


async def test_the_small_model_answers_the_prompt_and_its_cost_counts(tmp_path: Path):
    small = ScriptedModel(Reply(say("2 EUR")), facts=replace(SCRIPTED_FACTS, id="small-1"))
    with PageServer({"/": [PAGE]}) as server:
        model = fetching(f"{server.url}/", prompt="What does a pen cost?")
        events = await play(reading(tmp_path, model, server, allowed_tools=["WebFetch"], small_model=small))
    assert "answered from" in last(model)
    assert "2 EUR" in last(model)
    assert "A pen is 2 EUR." in str(small.requests[0].messages)
    assert small.requests[0].source.name == "side_question"
    assert [event.model for event in events if isinstance(event, SideUsage)] == ["small-1"]
    assert (result(events).usage.output_tokens, result(events).tree_usage.output_tokens) == (40, 60)
    assert terminal(events).reason == "completed"


async def test_a_small_model_that_fails_is_done_without(tmp_path: Path):
    small = ScriptedModel(Fails(ModelError("no credit", kind="billing")))
    with PageServer({"/": [PAGE]}) as server:
        model = fetching(f"{server.url}/", prompt="What does a pen cost?")
        await play(reading(tmp_path, model, server, allowed_tools=["WebFetch"], small_model=small))
    assert "A pen is 2 EUR." in last(model)


async def test_a_small_model_that_cannot_be_had_is_named_and_left_out(tmp_path: Path):
    async with open_engine(options(tmp_path, ScriptedModel(), small_model="nobody/nothing")) as engine:
        assert any("nobody/nothing" in notice for notice in engine.setting.notices)


async def test_the_environment_may_name_the_small_model(tmp_path: Path):
    environment = {"HOME": str(tmp_path), "OSTINATO_SMALL_MODEL": "nobody/nothing"}
    async with open_engine(replace(options(tmp_path, ScriptedModel()), environment=environment)) as engine:
        assert any("nobody/nothing" in notice for notice in engine.setting.notices)


async def test_search_is_offered_where_it_is_set_up_and_else_says_what_to_set(tmp_path: Path):
    queries: list[SearchQuery] = []

    async def search(query: SearchQuery) -> list[SearchHit]:
        queries.append(query)
        return [SearchHit("https://a.example/", "A")]

    def searching() -> ScriptedModel:
        return ScriptedModel(Reply(call("WebSearch", "t1", query="pens")), Reply(say("ok")))

    off, on = searching(), searching()
    await play(options(tmp_path, off, allowed_tools=["WebSearch"]))
    await play(options(tmp_path, on, allowed_tools=["WebSearch"], web_search=search))
    assert "WebSearch is off" in last(off)
    assert "https://a.example/" in last(on)
    assert [query.query for query in queries] == ["pens"]
    offered = [{tool.name for tool in model.requests[0].tools} for model in (off, on)]
    assert ["WebSearch" in names for names in offered] == [False, True]


async def test_a_service_may_be_on_this_machine_and_named_by_the_environment(tmp_path: Path):
    said = b'{"results":[{"url":"https://a.example/","title":"A"}]}'
    with PageServer({"/s?q=pens": [answer(200, said)]}) as server:
        model = ScriptedModel(Reply(call("WebSearch", "t1", query="pens")), Reply(say("ok")))
        environment = {
            "HOME": str(tmp_path),
            "OSTINATO_WEB_SEARCH_URL": f"{server.url}/s?q={{query}}",
            "OSTINATO_WEB_SEARCH_HEADERS": "X-Key: k",
        }
        await play(replace(options(tmp_path, model, allowed_tools=["WebSearch"]), environment=environment))
    assert "https://a.example/" in last(model)
    assert "x-key: k" in server.requests[0].lower()


@pytest.mark.parametrize(
    "wrong",
    [
        {"web_search": "https://a.example/"},
        {"web_search": 3},
        {"web_private_hosts": ["http://a"]},
        {"web_private_hosts": "localhost"},
        {"small_model": 3},
    ],
)
async def test_what_cannot_be_meant_is_refused_before_anything_is_opened(
    tmp_path: Path, wrong: dict[str, Any]
):
    with pytest.raises((UsageError, ConfigurationError)):
        await play(options(tmp_path, ScriptedModel(), **wrong))

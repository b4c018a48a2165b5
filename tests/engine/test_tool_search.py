"""Many tools of a caller are known by name until they are looked for; what is found stays, and nothing sent before it moves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.engine.test_stopping import options, play

from ostinato.deferred_tools import MAX_SENT_TOKENS, FoundTools, schema_tokens
from ostinato.engine.assemble import open_engine
from ostinato.engine.offered_tools import offered_tools
from ostinato.engine.options import Options
from ostinato.testing import SCRIPTED_FACTS, Reply, ScriptedModel, call, say, terminal, tool_context
from ostinato.tool import NO_ACCESS, Tool, ToolContext, ToolOutcome
from ostinato.tools.equipment import Equipment
from ostinato.tools.tool_search import tool_search_tool

LONG = "word " * 200


def numbered(number: int, **more: Any) -> Tool:
    async def run(tool_input: Any, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(f"{number} ran with {tool_input['amount']}")

    return Tool(
        name=f"mcp__bank__payOrder{number}",
        description=f"Pay order {number} from the account. {LONG}",
        input_schema={
            "type": "object",
            "properties": {"amount": {"type": "integer"}},
            "required": ["amount"],
            "additionalProperties": False,
        },
        call=run,
        access=lambda _input, _workspace: NO_ACCESS,
        **more,
    )


MANY = [numbered(number) for number in range(60)]


def names(model: ScriptedModel, number: int) -> list[str]:
    return [tool.name for tool in model.requests[number].tools]


def chosen(tmp_path: Path, model: ScriptedModel, **more: Any) -> Any:
    return options(tmp_path, model, **{"extra_tools": MANY, "permission_mode": "bypassPermissions", **more})


async def test_a_tool_that_was_found_is_sent_behind_everything_that_was_sent_before(tmp_path: Path):
    model = ScriptedModel(
        Reply(call("ToolSearch", "t1", query="select:mcp__bank__payOrder7,mcp__bank__payOrder3")),
        Reply(call("mcp__bank__payOrder3", "t2", amount=5)),
        Reply(call("ToolSearch", "t3", query="select:mcp__bank__payOrder1")),
        Reply(say("ok")),
    )
    events = await play(chosen(tmp_path, model))
    assert terminal(events).reason == "completed"
    first = names(model, 0)
    assert "ToolSearch" in first
    assert not [name for name in first if name.startswith("mcp__")]
    assert names(model, 1) == [*first, "mcp__bank__payOrder3", "mcp__bank__payOrder7"]
    assert names(model, 3) == [*names(model, 1), "mcp__bank__payOrder1"]
    assert model.requests[1].tools[: len(first)] == model.requests[0].tools
    assert model.requests[1].tools == model.requests[2].tools
    assert "3 ran with 5" in str(model.requests[2].messages[-1])
    search = next(tool for tool in model.requests[0].tools if tool.name == "ToolSearch")
    assert all(tool.name in search.description for tool in MANY)


async def test_few_tools_are_sent_as_they_are(tmp_path: Path):
    model = ScriptedModel(Reply(say("ok")))
    await play(chosen(tmp_path, model, extra_tools=MANY[:2]))
    assert "ToolSearch" not in names(model, 0)
    assert names(model, 0)[-2:] == [tool.name for tool in MANY[:2]]


async def test_the_limit_is_a_share_of_a_small_window(tmp_path: Path):
    few = MANY[: MAX_SENT_TOKENS * 4 // 1_200 - 2]
    large = ScriptedModel(Reply(say("ok")))
    await play(chosen(tmp_path, large, extra_tools=few))
    small = ScriptedModel(Reply(say("ok")), facts=replace(SCRIPTED_FACTS, context_window=50_000))
    await play(chosen(tmp_path, small, extra_tools=few))
    assert ("ToolSearch" in names(large, 0), "ToolSearch" in names(small, 0)) == (False, True)


async def test_a_tool_that_must_always_be_there_is(tmp_path: Path):
    model = ScriptedModel(Reply(say("ok")))
    await play(chosen(tmp_path, model, extra_tools=[*MANY, numbered(99, always_load=True)]))
    assert [name for name in names(model, 0) if name.startswith("mcp__")] == ["mcp__bank__payOrder99"]


async def test_a_small_model_has_the_tools_it_was_given(tmp_path: Path):
    model = ScriptedModel(Reply(say("ok")), facts=replace(SCRIPTED_FACTS, tool_names=("Bash", "Read")))
    await play(chosen(tmp_path, model))
    assert len(names(model, 0)) == 62
    assert "ToolSearch" not in names(model, 0)


async def test_a_call_before_the_search_runs_if_it_is_right_and_else_says_what_to_load(tmp_path: Path):
    model = ScriptedModel(
        Reply(call("mcp__bank__payOrder1", "t1", amount=1), call("mcp__bank__payOrder2", "t2", sum=1)),
        Reply(say("ok")),
    )
    await play(chosen(tmp_path, model))
    results = str(model.requests[1].messages[-1])
    assert "1 ran with 1" in results
    assert "select:mcp__bank__payOrder2" in results


async def test_what_was_found_is_still_there_after_a_resume_and_not_in_a_new_session(tmp_path: Path):
    def kept(model: ScriptedModel, **more: Any) -> Any:
        return replace(chosen(tmp_path, model), keep_session=True, **more)

    model = ScriptedModel(Reply(call("ToolSearch", "t1", query="order 5")), Reply(say("ok")))
    async with open_engine(kept(model)) as engine:
        _ = [event async for event in engine.submit_message("go")]
        session_id = engine.session_id
    again = ScriptedModel(Reply(say("ok")), Reply(say("new")))
    async with open_engine(kept(again, resume=session_id)) as engine:
        _ = [event async for event in engine.submit_message("go on")]
        await engine.clear()
        _ = [event async for event in engine.submit_message("hello")]
    assert again.requests[0].tools == model.requests[1].tools
    assert again.requests[1].tools == model.requests[0].tools


async def found(query: str, **more: Any) -> list[str]:
    holder = FoundTools()
    other = replace(numbered(1), name="weather_today", description="The weather, anywhere.")
    search = tool_search_tool([*MANY[:12], other], holder, max_tokens=100_000)
    await search.call({"query": query, **more}, tool_context())
    return list(holder.names)


async def test_words_are_looked_for_in_names_first_and_then_in_what_tools_do():
    assert (await found("weather"))[0] == "weather_today"
    assert (await found("anywhere")) == ["weather_today"]
    assert (await found("pay order 7"))[0] == "mcp__bank__payOrder7"
    assert len(await found("pay")) == 5
    assert len(await found("pay", max_results=2)) == 2
    assert len(await found("pay", max_results=-1)) == 1
    assert await found("+weather pay") == ["weather_today"]
    assert await found("nothing-like-it-xyz") == []
    assert await found("select: WEATHER_today , unknown") == ["weather_today"]
    assert await found("") == []


async def test_what_is_loaded_leaves_room_in_every_request_to_come():
    """A name too many, and no later request would fit the window."""
    holder, many = FoundTools(), [*MANY, *(replace(numbered(1), name=f"other{place}") for place in range(40))]
    search = tool_search_tool(many, holder, max_tokens=70 * schema_tokens(MANY[:1]))
    told: list[str] = []
    for _ in range(3):
        wanted = ",".join(tool.name for tool in many if tool.name not in holder.names)
        outcome = await search.call({"query": f"select:{wanted}"}, tool_context())
        assert isinstance(outcome, ToolOutcome)
        told.append(str(outcome.content))
    assert 65 <= len(holder.names) <= 75
    assert schema_tokens(tool for tool in many if tool.name in holder.names) <= 71 * schema_tokens(MANY[:1])
    assert all("not loaded" in text for text in told)
    known = await search.call({"query": f"select:{holder.names[0]}"}, tool_context())
    assert isinstance(known, ToolOutcome)
    assert "not loaded" not in str(known.content)


class Counted(tuple[Tool, ...]):
    """Knows how often it was gone through."""

    times = 0

    def __iter__(self) -> Iterator[Tool]:
        self.times += 1
        return super().__iter__()


def test_many_tools_are_not_compared_each_with_each():
    """Thousands of them would take seconds."""
    many = Counted(MANY)
    offered = offered_tools(Options(extra_tools=many), (), SCRIPTED_FACTS, Equipment(), FoundTools())
    assert len(offered.deferred.searchable) == len(MANY)
    assert many.times < len(MANY) / 4


def test_the_names_a_model_may_call_hold_what_can_be_searched_and_not_what_is_switched_off():
    known = offered_tools(Options(), (), SCRIPTED_FACTS, Equipment(), FoundTools())
    off = known.deferred.switched_off
    names = known.deferred.known_names(known.tools)
    assert off
    assert off.isdisjoint(names)
    assert set(names) == {tool.name for tool in known.deferred.sent(known.tools)}
    searchable = replace(known.deferred, searchable=frozenset({"Read"}))
    assert "Read" in searchable.known_names(known.tools)

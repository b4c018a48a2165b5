"""A conversation that does not fit goes on: over a real connection, in one file on disk, and after a resume."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ostinato import Options
from ostinato.engine.assemble import open_engine
from ostinato.events import Event, SystemEvent
from ostinato.messages import ToolResult, Usage
from ostinato.ports import ModelFacts
from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.openai_chat import OpenAIChatModel
from ostinato.providers.openai_responses import OpenAIResponsesModel
from ostinato.records import Fold
from ostinato.state import QueryConfig
from ostinato.testing import SCRIPTED_FACTS, Reply, ScriptedModel, StrictServer, call, fake_tool, result, say
from ostinato.tool import Tool, ToolContext

ADAPTERS = {"anthropic": AnthropicModel, "openai": OpenAIChatModel, "responses": OpenAIResponsesModel}
ACCOUNT = (
    "<analysis>thoughts</analysis><summary>The user wants every part looked at; three parts were.</summary>"
)
WISH = "Look at every part, and never touch the docs."
SMALL = replace(SCRIPTED_FACTS, context_window=20_000, max_output_tokens=4_000)
UNKNOWN = Usage()


def part(number: int, lines: int = 400) -> str:
    return "".join(f"line {n} of part {number}, which is long\n" for n in range(lines))


class Looking:
    """A model, in process or behind a wire, that looks at `parts` parts and is done; a summary it writes when asked for one."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.looked = 0
        self.summaries = 0

    def turn(self, request: object, _number: int) -> Reply:
        if "<analysis>" in str(request):
            self.summaries += 1
            return Reply(say(ACCOUNT), usage=UNKNOWN)
        self.looked += 1
        if self.looked <= self.parts:
            return Reply(call("Look", f"t{self.looked}"), usage=UNKNOWN)
        return Reply(say("done"), usage=UNKNOWN)


def looking_tool(lines: int = 400) -> Tool:
    looked: list[int] = []

    async def look(_input: Mapping[str, Any], _context: ToolContext) -> str:
        looked.append(len(looked))
        return part(len(looked), lines)

    return fake_tool("Look", look)


def options(folder: Path, model: Any, *, home: Path, tool: Tool | None = None, **more: Any) -> Options:
    environment = {"HOME": str(home), "OSTINATO_HOME": str(home)}
    return Options(
        cwd=folder,
        model=model,
        tools=[tool or looking_tool()],
        allowed_tools=["Look"],
        environment=environment,
        **more,
    )


async def asked(given: Options, *prompts: str) -> tuple[str, list[Event]]:
    async with open_engine(given) as engine:
        events: list[Event] = []
        for prompt in prompts:
            events += [event async for event in engine.submit_message(prompt)]
        return engine.session_id, events


def boundaries(events: list[Event]) -> int:
    return sum(isinstance(e, SystemEvent) and e.message.subtype == "compact_boundary" for e in events)


@pytest.mark.parametrize("wire", ADAPTERS)
async def test_over_every_wire_the_summary_and_what_follows_it_are_legal(tmp_path: Path, wire: str):
    facts = ModelFacts("anthropic" if wire == "anthropic" else "openai", "model-1", 20_000, 4_000)
    looking = Looking(5)
    with StrictServer(script=looking.turn) as server:
        model = ADAPTERS[wire](facts, base_url=server.url, api_key="key-1", settings=HttpSettings())
        try:
            _, events = await asked(options(tmp_path, model, home=tmp_path, keep_session=False), WISH)
        finally:
            await model.aclose()
        server.assert_clean()
    assert result(events).text == "done"
    assert boundaries(events) == looking.summaries > 0
    assert WISH in str(server.requests[-1].body)
    assert "line 399 of part 1," not in str(server.requests[-1].body)


async def test_a_resumed_conversation_begins_with_its_summary_and_still_knows_the_wish(tmp_path: Path):
    looking = Looking(5)
    first = ScriptedModel(script=looking.turn, facts=SMALL)
    session, _ = await asked(options(tmp_path, first, home=tmp_path / "home"), WISH)
    second = ScriptedModel(Reply(say("I know")), facts=SMALL)
    await asked(options(tmp_path, second, home=tmp_path / "home", resume=session), "What was it?")
    (request,) = second.requests
    assert looking.summaries > 0
    assert WISH in str(request.messages[0])
    assert "three parts were" in str(request.messages[0])
    assert "line 399 of part 1," not in str(request.messages)


async def test_with_compaction_off_nothing_is_summarised_and_the_query_ends_before_it_would_not_fit(
    tmp_path: Path,
):
    looking = Looking(9)
    model = ScriptedModel(script=looking.turn, facts=SMALL)
    config = QueryConfig(auto_compact=False)
    _, events = await asked(options(tmp_path, model, home=tmp_path, config=config), WISH)
    assert result(events).terminal_reason == "blocking_limit"
    assert (boundaries(events), looking.summaries) == (0, 0)


async def test_a_result_beyond_its_tools_limit_lies_whole_in_a_file_of_the_session_for_its_owner_alone(
    tmp_path: Path,
):
    tool = replace(looking_tool(4_000), max_result_characters=400_000)
    calls = (call("Look", f"t{n}") for n in range(3))
    model = ScriptedModel(Reply(*calls, usage=UNKNOWN), Reply(say("done")))
    await asked(options(tmp_path, model, home=tmp_path / "home", tool=tool), WISH)
    shown = {
        b.tool_use_id: str(b.content)
        for m in model.requests[1].messages
        for b in m.content
        if isinstance(b, ToolResult)
    }
    kept = {file.stem: file for file in (tmp_path / "home").rglob("tool-results/*.txt")}
    assert sum(map(len, shown.values())) <= 200_000
    assert {name for name, text in shown.items() if text.startswith("[This result")} == set(kept)
    assert all(str(file) in shown[name] for name, file in kept.items())
    whole = {part(n, 4_000) for n in range(1, 4)}
    assert all(file.read_text() in whole and file.stat().st_mode & 0o777 == 0o600 for file in kept.values())


async def test_where_it_is_wanted_finished_parts_give_way_to_accounts_before_a_summary_is_needed(
    tmp_path: Path,
):
    looking = Looking(60)
    facts = replace(SCRIPTED_FACTS, context_window=100_000, max_output_tokens=4_000)
    model = ScriptedModel(script=looking.turn, facts=facts)
    config = QueryConfig(collapse=True)
    given = options(tmp_path, model, home=tmp_path, config=config, keep_session=False)
    async with open_engine(given) as engine:
        events = [event async for event in engine.submit_message(WISH)]
        folds = [record for record in engine.history.log() if isinstance(record, Fold)]
    assert result(events).text == "done"
    assert len(folds) > 1
    assert looking.summaries == 0
    assert all(WISH in str(request.messages[0]) for request in model.requests)

"""Accounts by a small model, made while the conversation goes on: counted, one at a time, and gone with the query that began them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio.lowlevel
from msgspec.structs import replace
from tests.engine.test_long_conversations import WISH, Looking, boundaries, looking_tool, options

from ostinato import Options
from ostinato.context.span_account import BY_MODEL
from ostinato.engine.assemble import open_engine
from ostinato.engine.query_engine import QueryEngine
from ostinato.errors import ModelError
from ostinato.events import Event, SideUsage, Transition
from ostinato.journal.read import read_session
from ostinato.messages import NO_USAGE, Usage
from ostinato.ports import ModelRequest
from ostinato.records import Attempt, Fold, Undo
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    Fails,
    Gate,
    Reply,
    ScriptedModel,
    Turn,
    result,
    say,
)
from ostinato.tool import Tool, ToolContext, ToolOutcome

WINDOW = replace(SCRIPTED_FACTS, context_window=60_000, max_output_tokens=4_000)
SMALL = replace(SCRIPTED_FACTS, id="small-1", context_window=30_000, max_output_tokens=4_000)
COST = Usage(700, 60)
ACCOUNT = Reply(
    say("<summary>Several parts were looked at in their order; nothing in them needs to be known.</summary>"),
    usage=COST,
)
PARTS = 20
"""Fill the window once."""


class Small:
    """A small model that answers each request with `turn`."""

    def __init__(self, turn: Turn = ACCOUNT) -> None:
        self.turn = turn
        self.most_at_once = 0
        self.model = ScriptedModel(script=self._answer, facts=SMALL)

    def _answer(self, _request: ModelRequest, _number: int) -> Turn:
        self.most_at_once = max(self.most_at_once, self.model.open_streams + 1)
        return self.turn

    @property
    def asked(self) -> list[ModelRequest]:
        return self.model.requests


def given(folder: Path, small: Small, looking: Callable[[object, int], Turn], **more: Any) -> Options:
    model = ScriptedModel(script=looking, facts=WINDOW)
    config = QueryConfig(collapse=True, microcompact=False, snip=False, normalise_strictly=True)
    more = {"config": config, "small_model": small.model, "tool": unhurried(looking_tool(240)), **more}
    return options(folder, model, home=folder / "home", **more)


def unhurried(tool: Tool) -> Tool:
    """The same, and what goes on beside it gets on meanwhile."""

    async def call_tool(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome | str:
        for _ in range(30):
            await anyio.lowlevel.checkpoint()
        return await tool.call(tool_input, context)

    return replace(tool, call=call_tool)


async def said(engine: QueryEngine, prompt: str = WISH) -> list[Event]:
    return [event async for event in engine.submit_message(prompt)]


def folds(engine: QueryEngine) -> list[Fold]:
    return [record for record in engine.history.log() if isinstance(record, Fold)]


def models(made: list[Fold]) -> list[Fold]:
    return [fold for fold in made if BY_MODEL.strip() in str(fold.summary)]


def accounts(folder: Path) -> list[Attempt]:
    """What the session's file says of them."""
    (file,) = folder.rglob("*.jsonl")
    return [r for r in read_session(file).records if isinstance(r, Attempt) and r.source == "collapse"]


async def test_accounts_of_a_small_model_stand_in_and_what_they_cost_is_written_and_told(tmp_path: Path):
    small = Small()
    async with open_engine(given(tmp_path, small, Looking(PARTS).turn)) as engine:
        events = await said(engine)
        made = models(folds(engine))
        assert result(events).text == "done"
        assert len(made) > 1
        assert boundaries(events) == 0
        assert [one.usage for one in accounts(tmp_path)][: len(made)] == [COST] * len(made)
        used = [one.usage for one in accounts(tmp_path) if one.usage != NO_USAGE]
        assert [e.usage for e in events if isinstance(e, SideUsage)] == used
    assert small.most_at_once == 1
    assert all(request.tools == () for request in small.asked)
    assert all(request.source.is_background for request in small.asked)


async def test_what_the_model_wrote_is_there_after_a_resume_and_the_user_can_take_it_back(tmp_path: Path):
    small = Small()
    async with open_engine(given(tmp_path, small, Looking(PARTS).turn)) as engine:
        await said(engine)
        session, view = engine.session_id, engine.history.view()
    again = given(tmp_path, small, lambda _request, _number: Reply(say("yes")), resume=session)
    async with open_engine(again) as engine:
        assert engine.history.view() == view
        (first, *_) = models(folds(engine))
        await said(engine, f"/context undo {first.edit_id}")
        assert any(isinstance(record, Undo) for record in engine.history.log())
        assert first.summary.uuid not in {message.uuid for message in engine.history.view()}


async def test_a_query_that_ends_while_an_account_is_written_waits_for_nothing_and_the_next_has_it_written(
    tmp_path: Path,
):
    small, looking = Small(Reply(Gate(), say("never"), usage=COST)), Looking(12)
    async with open_engine(given(tmp_path, small, looking.turn)) as engine:
        events = await said(engine)
        assert result(events).text == "done"
        assert len(small.asked) == 1
        assert small.model.open_streams == 0
        assert [one.outcome for one in accounts(tmp_path)] == ["aborted"]
        small.turn, looking.parts = ACCOUNT, looking.looked + 5
        await said(engine, "Go on.")
        assert models(folds(engine))


async def test_an_abort_ends_the_writing_and_leaves_nothing(tmp_path: Path):
    small, looking = Small(Reply(Gate(), say("never"))), Looking(PARTS)
    async with open_engine(given(tmp_path, small, looking.turn)) as engine:
        async for _ in engine.submit_message(WISH):
            if small.asked:
                engine.interrupt()
        assert small.model.open_streams == 0
        assert folds(engine) == []
        assert [one.outcome for one in accounts(tmp_path)] == ["aborted"]


async def test_where_the_budget_has_no_room_for_an_account_none_is_asked_for(tmp_path: Path):
    small = Small(Reply(say("<summary>" + "words " * 30 + "</summary>"), usage=Usage(900_000, 60)))
    async with open_engine(given(tmp_path, small, Looking(PARTS).turn, max_total_tokens=900_000)) as engine:
        events = await said(engine)
        assert result(events).terminal_reason == "budget_exhausted"
    assert len(small.asked) == 1


async def test_where_the_small_model_fails_the_programs_accounts_stand_in(tmp_path: Path):
    failing = Small(Fails(ModelError("no", kind="server", retry=False, status=500)))
    async with open_engine(given(tmp_path, failing, Looking(PARTS).turn)) as engine:
        events = await said(engine)
        assert result(events).text == "done"
        assert folds(engine)
        assert not models(folds(engine))


async def test_a_request_that_is_too_long_all_the_same_drains_what_is_staged(tmp_path: Path):
    too_long = ModelError("prompt is too long", kind="prompt_too_long", status=400, recover="compact")
    small, looking, refused = Small(), Looking(14), [False]

    def turn(request: object, number: int) -> Turn:
        if looking.looked == 12 and not refused[0]:
            refused[0] = True
            return Fails(too_long)
        return looking.turn(request, number)

    async with open_engine(given(tmp_path, small, turn)) as engine:
        events = await said(engine)
        assert result(events).text == "done"
        reasons = [one.transition.reason for one in events if isinstance(one, Transition)]
        assert "collapse_drain_retry" in reasons
        assert "reactive_compact_retry" not in reasons
        assert models(folds(engine))

"""However a conversation is left, its run is over, its record is whole and its session is free."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio.lowlevel
import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options, QueryOptions
from ostinato.engine.query import query
from ostinato.engine.query_engine import QueryEngine
from ostinato.events import Event
from ostinato.messages import UserMessage
from ostinato.ports import Model
from ostinato.testing import (
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    call,
    fake_tool,
    say,
    survives_cancellation,
    terminal,
    waits_at,
)
from ostinato.tool import Tool


def options(tmp_path: Path, model: Model, *tools: Tool, session_id: str | None = None) -> Options:
    return Options(
        cwd=tmp_path,
        model=model,
        environment={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        extra_tools=tools,
        allowed_tools=tuple(tool.name for tool in tools),
        session_id=session_id,
    )


def results(engine: QueryEngine) -> list[UserMessage]:
    view = engine.history.view()
    return [m for m in view if isinstance(m, UserMessage) and m.origin == "tool_result"]


async def until_running(events: AsyncGenerator[Event, None], log: RunLog) -> None:
    async for _ in events:
        if log.running:
            return


async def test_closing_a_conversation_ends_the_query_that_still_runs_in_it(tmp_path: Path):
    log = RunLog()
    model = ScriptedModel(Reply(call("Wait", "t1")))
    async with open_engine(options(tmp_path, model, fake_tool("Wait", waits_at(Gate()), log=log))) as engine:
        events = engine.submit_message("go")  # held by this name: nobody closes it
        await until_running(events, log)
    assert log.running == frozenset()
    assert model.open_streams == 0
    await events.aclose()
    assert len(results(engine)) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_conversation_can_be_gone_on_with_after_leaving_it_was_interrupted(tmp_path: Path):
    """A host that cancels twice: once for the query, and again while leaving it waits for a tool that will not end."""
    log, gate = RunLog(), Gate()
    deaf = fake_tool("Deaf", survives_cancellation(gate), log=log)
    model = ScriptedModel(Reply(call("Deaf", "t1")), Reply(say("fine")))
    async with open_engine(options(tmp_path, model, deaf)) as engine:
        events = engine.submit_message("go")
        await until_running(events, log)
        await interrupted(events)
        gate.open()
        assert terminal([event async for event in engine.submit_message("on")]).reason == "completed"
        assert len(results(engine)) == 1


async def interrupted(events: AsyncGenerator[Event, None]) -> None:
    """Close the generator in a task that is cancelled past every shield, as `asyncio` hosts can."""
    leaving = asyncio.ensure_future(events.aclose())
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_the_session_is_free_after_leaving_a_bare_query_was_interrupted(tmp_path: Path):
    log, gate = RunLog(), Gate()
    deaf = fake_tool("Deaf", survives_cancellation(gate), log=log)
    given: QueryOptions = {
        "cwd": tmp_path,
        "model": ScriptedModel(Reply(call("Deaf", "t1"))),
        "environment": {"HOME": str(tmp_path)},
        "extra_tools": [deaf],
        "allowed_tools": ["Deaf"],
        "session_id": "first",
    }
    events = query("go", **given)
    await until_running(events, log)
    await interrupted(events)
    gate.open()
    resumed: QueryOptions = {**given, "model": ScriptedModel(Reply(say("fine"))), "resume": "first"}
    del resumed["session_id"]
    assert terminal([event async for event in query("on", **resumed)]).reason == "completed"

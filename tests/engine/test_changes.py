"""Model, mode and session of a conversation can change while it lives; what was said stays, and the accounts add up."""

import gc
import weakref
from functools import partial
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace
from tests.engine.engine_scene import BROKEN, OTHER_FACTS, Desk, submitted, tool_results

from ostinato.engine.prompt_queue import pending_prompts
from ostinato.engine.slash.reply import NotACommand, OpenSession, SlashOutcome, SlashReply, StartAnew
from ostinato.errors import ConfigurationError, UsageError
from ostinato.events import ResponseUsage
from ostinato.messages import NO_USAGE, Text, Thinking, UserMessage
from ostinato.ports import Abort, ModelRequest, Prices
from ostinato.records import ResponseEnded, SettingChanged
from ostinato.testing import (
    SCRIPTED_FACTS,
    SCRIPTED_USAGE,
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    call,
    fake_tool,
    result,
    say,
    think,
    waits_at,
)

PRICED = replace(SCRIPTED_FACTS, prices=Prices(input=1_000_000.0, output=0.0))


def said(request: ModelRequest) -> list[str]:
    return [block.text for m in request.messages for block in m.content if isinstance(block, Text)]


# ------------------------------------------------------------------------------------------------ the model


async def test_another_model_gets_the_same_history_without_the_thinking_of_the_first():
    first = ScriptedModel(Reply(think("secret"), say("a")), Reply(say("c")))
    other = ScriptedModel(Reply(say("b")), facts=OTHER_FACTS)
    desk = Desk(first, other)
    engine = await desk.engine()
    await submitted(engine, "one")
    assert (await engine.set_model("scripted-2")).context_window == 50_000
    assert engine.setting.model == OTHER_FACTS
    await submitted(engine, "two")
    request = other.requests[0]
    assert (request.model, said(request)) == ("scripted-2", ["one", "a", "two"])
    assert not any(isinstance(block, Thinking) for m in request.messages for block in m.content)
    await engine.set_model("scripted-1")
    await submitted(engine, "three")
    assert said(first.requests[1]) == ["one", "a", "two", "b", "three"]
    assert [record.value for record in desk.journals[0].records if isinstance(record, SettingChanged)] == [
        "scripted-2",
        "scripted-1",
    ]
    assert desk.closed_models == ["scripted-1", "scripted-2"]


async def test_a_model_set_while_a_query_runs_begins_with_the_next_one():
    gate = Gate()
    first = ScriptedModel(Reply(call("Wait", "t1")), Reply(say("a")))
    other = ScriptedModel(Reply(say("b")), facts=OTHER_FACTS)
    desk = Desk(first, other, tools=[fake_tool("Wait", waits_at(gate))])
    engine = await desk.engine()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(submitted, engine, "one")
        await gate.reached()
        await engine.set_model("scripted-2")
        assert desk.closed_models == []
        gate.open()
    assert len(first.requests) == 2
    told = result(await submitted(engine, "two"))
    assert list(told.costs) == ["scripted-2"]
    await engine.aclose()
    assert sorted(desk.closed_models) == ["scripted-1", "scripted-2"]


async def test_a_model_that_there_is_not_changes_nothing():
    model = ScriptedModel(Reply(say("a")))
    desk = Desk(model)
    engine = await desk.engine()
    with pytest.raises(ConfigurationError):
        await engine.set_model("nobody")
    assert result(await submitted(engine)).text == "a"
    assert desk.closed_models == []


async def test_a_model_and_a_session_that_change_at_once_both_hold():
    for changes in (("model", "session"), ("session", "model")):
        other = ScriptedModel(Reply(say("b")), facts=OTHER_FACTS)
        desk = Desk(ScriptedModel(), other)
        engine = await desk.engine()
        change = {"model": partial(engine.set_model, "scripted-2"), "session": engine.clear}
        async with anyio.create_task_group() as tasks:
            for name in changes:
                tasks.start_soon(change[name])
        assert [journal.is_closed for journal in desk.journals] == [True, False]
        assert (engine.session_id, engine.setting.model) == ("session-2", OTHER_FACTS)
        assert result(await submitted(engine)).text == "b"
        await engine.aclose()
        assert sorted(desk.closed_models) == ["scripted-1", "scripted-2"]


@pytest.mark.parametrize("change", ["model", "session"])
async def test_a_change_that_an_end_overtakes_leaves_nothing_open(change: str):
    desk = Desk(ScriptedModel(), ScriptedModel(facts=OTHER_FACTS))
    engine = await desk.engine()

    async def changed() -> None:
        with pytest.raises(UsageError):
            await (engine.set_model("scripted-2") if change == "model" else engine.clear())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(changed)
        tasks.start_soon(engine.aclose)
    assert all(journal.is_closed for journal in desk.journals)
    assert sorted(desk.closed_models) == sorted(desk.opened_models)


async def test_a_model_that_cannot_be_closed_well_is_changed_all_the_same():
    desk = Desk(ScriptedModel(), ScriptedModel(Reply(say("b")), facts=OTHER_FACTS))
    desk.cannot_close = ("scripted-1",)
    engine = await desk.engine()
    assert await engine.set_model("scripted-2") == OTHER_FACTS
    assert result(await submitted(engine)).text == "b"


# ------------------------------------------------------------------------------------------------ the mode


async def test_a_mode_holds_for_the_very_next_call_of_a_running_query():
    gate, log = Gate(), RunLog()
    model = ScriptedModel(Reply(call("Wait", "t1")), Reply(call("Look", "t2")), Reply(say("a")))
    tools = [fake_tool("Wait", waits_at(gate), log=log), fake_tool("Look", log=log)]
    desk = Desk(model, tools=tools)
    engine = await desk.engine()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(submitted, engine)
        await gate.reached()
        engine.set_permission_mode("plan")
        gate.open()
    assert log.started == ("t1",)
    assert [one.is_error for one in tool_results(engine)] == [False, True]
    assert engine.setting.permission_mode == "plan"
    assert SettingChanged("permission_mode", "plan") in desk.journals[0].records


async def test_the_mode_survives_a_change_of_model_and_session():
    desk = Desk(ScriptedModel(), ScriptedModel(facts=OTHER_FACTS))
    engine = await desk.engine()
    engine.set_permission_mode("plan")
    await engine.set_model("scripted-2")
    await engine.clear()
    assert engine.setting.permission_mode == "plan"
    assert engine.setting.model == OTHER_FACTS


# ------------------------------------------------------------------------------------------------ the session


async def test_a_cleared_conversation_is_a_new_session_and_the_old_one_stays():
    model = ScriptedModel(Reply(say("a")), Reply(say("b")))
    desk = Desk(model)
    engine = await desk.engine()
    await submitted(engine, "one")
    before, old = engine.session_id, list(desk.journals[0].records)
    await engine.clear()
    assert engine.session_id != before
    assert (engine.get_messages(), engine.usage, engine.costs) == ([], NO_USAGE, {})
    assert desk.journals[0].is_closed
    await submitted(engine, "two")
    assert said(model.requests[1]) == ["two"]
    assert desk.journals[0].records == old
    assert any(isinstance(record, UserMessage) for record in desk.journals[1].records)


async def test_what_waits_moves_along_to_the_new_session():
    desk = Desk(ScriptedModel(Reply(say("a"))))
    engine = await desk.engine()
    engine.queue.put("one")
    await engine.clear()
    _ = [event async for event in engine.run_queue()]
    assert any(isinstance(record, UserMessage) for record in desk.journals[1].records)


async def test_what_waits_stays_with_its_session_when_another_one_is_opened():
    desk = Desk(ScriptedModel())
    engine = await desk.engine()
    engine.queue.put("one")
    await engine.open_session(Path("/old.jsonl"))
    assert engine.queue.pending() == ()
    assert [prompt.text for prompt in pending_prompts(desk.journals[0].records)] == ["one"]
    assert pending_prompts(desk.journals[1].records) == ()


async def test_what_is_typed_behind_the_command_that_opens_a_session_is_for_that_session():
    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        if not prompt.startswith("/"):
            return NotACommand()
        engine.queue.put("behind")
        return SlashReply("done\n", next_step=OpenSession(Path("/old.jsonl")))

    desk = Desk(ScriptedModel(), read=read)
    engine = await desk.engine()
    engine.queue.put("before", priority="later")
    await submitted(engine, "/resume old")
    assert [prompt.text for prompt in engine.queue.pending()] == ["behind"]
    assert [prompt.text for prompt in pending_prompts(desk.journals[0].records)] == ["before"]


async def test_a_running_query_is_not_cleared_away():
    gate = Gate()
    engine = await Desk(ScriptedModel(Reply(gate, say("a")))).engine()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(submitted, engine)
        await gate.reached()
        with pytest.raises(UsageError):
            await engine.clear()
        gate.open()
    assert engine.session_id == "session-1"


async def test_a_command_can_begin_a_new_session_or_open_another():
    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        step = StartAnew() if prompt == "/clear" else OpenSession(Path("/old.jsonl"))
        return SlashReply("done\n", next_step=step)

    desk = Desk(
        ScriptedModel(), read=read, before=[ResponseEnded("r", "scripted-1", SCRIPTED_USAGE, "end_turn")]
    )
    engine = await desk.engine()
    told = result(await submitted(engine, "/clear"))
    assert (told.session_id, engine.session_id, engine.usage) == ("session-1", "session-2", NO_USAGE)
    await submitted(engine, "/resume old")
    assert (engine.session_id, engine.usage) == ("session-3", SCRIPTED_USAGE)


async def test_a_session_that_cannot_be_opened_is_an_error_and_the_old_one_goes_on():
    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        if prompt != "/resume":
            return NotACommand()
        return SlashReply("opening\n", next_step=OpenSession(BROKEN))

    desk = Desk(ScriptedModel(Reply(say("a"))), read=read)
    engine = await desk.engine()
    told = result(await submitted(engine, "/resume"))
    assert (told.is_error, told.error_kind, engine.session_id) == (True, "JournalError", "session-1")
    assert result(await submitted(engine, "go")).text == "a"


# ------------------------------------------------------------------------------------------------ accounts and messages


async def test_the_session_costs_what_all_its_queries_cost_earlier_runs_included():
    earlier = ResponseEnded("r", "scripted-1", SCRIPTED_USAGE, "end_turn")
    desk = Desk(ScriptedModel(Reply(say("a")), Reply(say("b")), facts=PRICED), before=[earlier])
    engine = await desk.engine()
    first, second = result(await submitted(engine, "one")), result(await submitted(engine, "two"))
    assert [told.total_cost_usd for told in (first, second)] == pytest.approx(
        [SCRIPTED_USAGE.input_tokens] * 2
    )
    assert engine.costs["scripted-1"].cost_usd == 3 * SCRIPTED_USAGE.input_tokens
    assert engine.usage == SCRIPTED_USAGE.plus(first.usage).plus(second.usage)


async def test_costs_of_a_query_that_was_left_count_for_the_session():
    model = ScriptedModel(Reply(call("Wait", "t1")))
    engine = await Desk(model, tools=[fake_tool("Wait", waits_at(Gate()))]).engine()
    events = engine.submit_message("one")
    async for event in events:
        if isinstance(event, ResponseUsage):
            break
    await events.aclose()
    assert engine.usage == SCRIPTED_USAGE


async def test_messages_can_be_asked_for_from_a_point_on_and_while_a_query_runs():
    gate = Gate()
    engine = await Desk(ScriptedModel(Reply(say("a")), Reply(say("b"), gate, say("c")))).engine()
    await submitted(engine, "one", uuid="first")
    assert [type(m).__name__ for m in engine.get_messages(since="first")] == ["AssistantMessage"]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(submitted, engine, "two")
        await gate.reached()
        assert [getattr(m, "text", "") for m in engine.get_messages(since="first")] == ["a", "", "b"]
        gate.open()
    assert len(engine.get_messages()) == 4


# ------------------------------------------------------------------------------------------------ the end


async def test_a_closed_engine_is_gone_at_once_and_never_waits_for_the_collector():
    desk = Desk(ScriptedModel(Reply(call("Look", "t1")), Reply(say("a"))), tools=[fake_tool("Look")])
    engine = await desk.engine()
    await submitted(engine)
    await engine.clear()
    engine.queue.put("waits")
    await engine.aclose()
    gone = weakref.ref(engine)
    gc.disable()
    try:
        del engine
        assert gone() is None
    finally:
        gc.enable()


async def test_a_closed_engine_gives_everything_back_and_takes_nothing_more():
    gate = Gate()
    model = ScriptedModel(Reply(call("Wait", "t1")))
    desk = Desk(model, tools=[fake_tool("Wait", waits_at(gate))])
    engine = await desk.engine()
    told: list[str] = []

    async def second() -> None:
        told.append(result(await submitted(engine, "two")).error_kind)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(submitted, engine, "one")
        await gate.reached()
        tasks.start_soon(second)
        await anyio.wait_all_tasks_blocked()
        await engine.aclose()
        await engine.aclose()
    assert told == ["withdrawn"]
    assert [prompt.text for prompt in engine.queue.pending()] == ["two"]
    assert (desk.journals[0].is_closed, desk.closed_models, model.open_streams) == (True, ["scripted-1"], 0)
    with pytest.raises(UsageError):
        await submitted(engine)
    with pytest.raises(UsageError):
        await engine.set_model("scripted-1")

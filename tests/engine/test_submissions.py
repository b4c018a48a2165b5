"""Whatever becomes of a submission, it ends with one Result that says so, and with a history that can be gone on with."""

import anyio
import pytest
from tests.engine.engine_scene import OTHER_FACTS, ClosingJournal, Desk, submitted, tool_results

from ostinato.engine.slash.reply import Expanded, Leave, NotACommand, SlashOutcome, SlashReply
from ostinato.errors import ModelError, UsageError
from ostinato.events import Result, SystemEvent, Terminal, ToolStart
from ostinato.messages import Text, UserMessage
from ostinato.permissions.rules import parse_rule
from ostinato.ports import Abort, ModelRequest
from ostinato.testing import (
    SCRIPTED_USAGE,
    Cut,
    Fails,
    Gate,
    Reply,
    ScriptedModel,
    call,
    fake_tool,
    kinds,
    result,
    say,
    terminal,
    waits_at,
)


def said(request: ModelRequest) -> list[str]:
    return [block.text for m in request.messages for block in m.content if isinstance(block, Text)]


def no_such_model() -> Fails:
    return Fails(ModelError("there is no such model", kind="not_found", status=404, hint="name another"))


# ------------------------------------------------------------------------------------------------ one Result on every path


async def test_success_holds_the_answer_and_the_accounts():
    desk = Desk(ScriptedModel(Reply(call("Look", "t1")), Reply(say("fine"))), tools=[fake_tool("Look")])
    engine = await desk.engine()
    told = result(await submitted(engine))
    assert (told.subtype, told.is_error, told.text, told.errors) == ("success", False, "fine", ())
    assert (told.terminal_reason, told.turn_count, told.stop_reason) == ("completed", 2, "end_turn")
    assert [step.reason for step in told.transitions] == ["next_turn"]
    assert told.usage == told.tree_usage == SCRIPTED_USAGE.plus(SCRIPTED_USAGE)
    assert told.costs["scripted-1"].usage == told.usage
    assert (told.total_cost_usd, told.cost_is_known) == (0.0, False)
    assert told.session_id == engine.session_id


async def test_the_turn_limit_is_a_subtype_of_its_own():
    desk = Desk(ScriptedModel(Reply(call("Look", "t1"))), tools=[fake_tool("Look")], max_turns=1)
    told = result(await submitted(await desk.engine()))
    assert (told.subtype, told.terminal_reason) == ("error_max_turns", "max_turns")
    assert told.errors


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_turns_are_the_rounds_that_were_taken_and_never_more_than_the_limit(limit: int):
    calls = [Reply(call("Look", f"t{number}")) for number in range(limit)]
    desk = Desk(ScriptedModel(*calls), tools=[fake_tool("Look")], max_turns=limit)
    told = result(await submitted(await desk.engine()))
    assert (told.terminal_reason, told.turn_count) == ("max_turns", limit)


@pytest.mark.parametrize("asked", ["Look", "Nonsense"])
async def test_a_round_whose_calls_were_all_denied_or_refused_is_a_turn_like_any_other(asked: str):
    replies = (Reply(call(asked, "t1"), call(asked, "t2")), Reply(call(asked, "t3")), Reply(say("no")))
    desk = Desk(ScriptedModel(*replies), tools=[fake_tool("Look")])
    engine = await desk.engine()
    engine.set_permission_mode("plan")
    assert result(await submitted(engine)).turn_count == 3


async def test_what_never_reached_a_model_took_no_turn():
    async def aborts(prompt: str, abort: Abort) -> SlashOutcome:
        engine.interrupt()
        await anyio.sleep_forever()
        return NotACommand()

    engine = await Desk(ScriptedModel(), read=aborts).engine()
    told = result(await submitted(engine))
    assert (told.terminal_reason, told.turn_count) == ("aborted_streaming", 0)


async def test_a_model_that_fails_is_an_error_with_its_kind_status_and_hint():
    told = result(await submitted(await Desk(ScriptedModel(no_such_model())).engine()))
    assert (told.subtype, told.terminal_reason) == ("error_during_execution", "model_error")
    assert (told.error_kind, told.status, told.hint) == ("not_found", 404, "name another")
    assert told.errors == ("there is no such model",)


async def test_a_denied_call_is_listed():
    desk = Desk(
        ScriptedModel(Reply(call("Look", "t1", path="x")), Reply(say("no"))), tools=[fake_tool("Look")]
    )
    engine = await desk.engine()
    engine.set_permission_mode("plan")
    told = result(await submitted(engine))
    assert [(d.tool_name, d.tool_use_id, d.tool_input) for d in told.denials] == [
        ("Look", "t1", {"path": "x"})
    ]


@pytest.mark.parametrize("fails_at", range(1, 7))
async def test_a_journal_that_fails_at_any_write_is_an_error_and_no_exception(fails_at: int):
    journal = ClosingJournal(fail_at_write=fails_at)
    desk = Desk(
        ScriptedModel(Reply(call("Look", "t1")), Reply(say("a"))), tools=[fake_tool("Look")], journal=journal
    )
    events = await submitted(await desk.engine())
    assert terminal(events).reason == "model_error"
    assert (result(events).is_error, result(events).error_kind) == (True, "JournalError")


@pytest.mark.parametrize("prompt", ["", " \n", "x" * 10_000_001], ids=["empty", "blank", "book"])
async def test_what_is_no_prompt_is_refused_before_anything_is_written(prompt: str):
    desk = Desk(ScriptedModel())
    engine = await desk.engine()
    with pytest.raises(UsageError):
        await submitted(engine, prompt)
    assert desk.journals[0].records == []
    assert not engine.is_busy


async def test_an_interrupt_ends_with_a_result_and_every_call_answered():
    gate = Gate()
    model = ScriptedModel(Reply(call("Wait", "t1")), Reply(say("on")))
    engine = await Desk(model, tools=[fake_tool("Wait", waits_at(gate))]).engine()
    events = engine.submit_message("go")
    heard = [await anext(events)]
    await gate_is_reached(gate, engine.interrupt)
    heard += [event async for event in events]
    assert (result(heard).subtype, result(heard).terminal_reason) == (
        "error_during_execution",
        "aborted_tools",
    )
    assert [one.tool_use_id for one in tool_results(engine)] == ["t1"]
    assert result(await submitted(engine, "on")).subtype == "success"


async def gate_is_reached(gate: Gate, then: object) -> None:
    await gate.reached()
    assert callable(then)
    then()


async def test_a_consumer_that_stops_at_the_terminal_leaves_a_free_engine():
    engine = await Desk(ScriptedModel(Reply(say("a")), Reply(say("b")))).engine()
    held = engine.submit_message("one")
    async for event in held:
        if isinstance(event, Terminal):
            break
    assert not engine.is_busy
    assert result(await submitted(engine, "two")).text == "b"
    await held.aclose()


async def test_a_consumer_that_leaves_gets_nothing_more_and_the_history_stays_legal():
    model = ScriptedModel(Reply(say("a"), call("Wait", "t1")), Reply(say("b")))
    engine = await Desk(model, tools=[fake_tool("Wait", waits_at(Gate()))]).engine()
    events = engine.submit_message("one")
    async for event in events:
        if isinstance(event, ToolStart):
            break
    await events.aclose()
    assert not engine.is_busy
    assert result(await submitted(engine, "two")).subtype == "success"
    assert len(tool_results(engine)) == 1


async def test_the_uuid_of_a_submission_is_that_of_its_message():
    engine = await Desk(ScriptedModel(Reply(say("a")))).engine()
    await submitted(engine, "go", uuid="mine")
    assert [m.uuid for m in engine.get_messages() if isinstance(m, UserMessage)] == ["mine"]


async def test_a_uuid_that_was_used_before_is_refused():
    engine = await Desk(ScriptedModel(Reply(say("a")))).engine()
    await submitted(engine, "go", uuid="mine")
    with pytest.raises(UsageError):
        await submitted(engine, "again", uuid="mine")
    assert not engine.is_busy


async def test_usage_of_a_reply_that_broke_off_is_counted_in_result_and_session():
    cut = Cut(Reply(say("half")))
    engine = await Desk(ScriptedModel(*[cut] * 20)).engine()
    told = result(await submitted(engine))
    assert told.is_error
    assert told.usage.input_tokens > 0
    assert told.costs["scripted-1"].usage == told.usage
    assert engine.usage == told.usage


# ------------------------------------------------------------------------------------------------ before the model


async def test_a_text_that_is_answered_here_calls_no_model():
    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        return SlashReply("12 tokens\n") if prompt == "/cost" else NotACommand()

    model = ScriptedModel(Reply(say("hi")))
    engine = await Desk(model, read=read).engine()
    events = await submitted(engine, "/cost")
    assert kinds(events) == ("system", "result")
    told = result(events)
    assert (told.subtype, told.text, told.terminal_reason, told.turn_count) == (
        "success",
        "12 tokens\n",
        None,
        0,
    )
    assert model.requests == []
    await submitted(engine, "hello")
    assert said(model.requests[0]) == ["hello"]


async def test_an_answer_that_is_a_refusal_is_an_error():
    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        return SlashReply("there is no command /x", is_error=True)

    told = result(await submitted(await Desk(ScriptedModel(), read=read).engine(), "/x"))
    assert (told.subtype, told.errors) == ("error_during_execution", ("there is no command /x",))


async def test_a_wish_to_leave_reaches_the_host():
    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        return SlashReply("", next_step=Leave())

    events = await submitted(await Desk(ScriptedModel(), read=read).engine(), "/exit")
    assert kinds(events) == ("result",)
    assert result(events).ends_conversation


async def test_an_expanded_text_is_what_the_model_reads_with_its_own_rules_and_model_for_this_query_only():
    rule = parse_rule("Bash(git:*)", "allow", "the command")

    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        if prompt != "/fix":
            return NotACommand()
        return Expanded("fix it", (rule,), "scripted-2", notices=("used /fix",))

    first, other = ScriptedModel(Reply(say("b"))), ScriptedModel(Reply(say("a")), facts=OTHER_FACTS)
    desk = Desk(first, other, read=read)
    engine = await desk.engine()
    events = await submitted(engine, "/fix", uuid="mine")
    assert [e.message.text for e in events if isinstance(e, SystemEvent)] == ["used /fix"]
    assert said(other.requests[0]) == ["fix it"]
    assert list(result(events).costs) == ["scripted-2"]
    assert desk.rules == [(rule,)]
    assert desk.closed_models == ["scripted-2"]
    await submitted(engine, "next")
    assert len(first.requests) == 1
    assert len(desk.rules) == 1
    assert list(engine.costs) == ["scripted-2", "scripted-1"]


async def test_a_model_that_a_text_asks_for_in_vain_is_an_error_and_nothing_is_sent():
    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        return Expanded("fix it", model="nobody")

    model = ScriptedModel()
    events = await submitted(await Desk(model, read=read).engine(), "/fix")
    assert (result(events).error_kind, terminal(events).reason) == ("ConfigurationError", "model_error")
    assert model.requests == []


@pytest.mark.parametrize("error", [UsageError("no"), RuntimeError("a bug")])
async def test_a_reader_that_raises_is_an_error_and_no_exception(error: Exception):
    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        raise error

    told = result(await submitted(await Desk(ScriptedModel(), read=read).engine(), "/x"))
    assert told.is_error


async def test_an_interrupt_while_the_text_is_read_ends_the_reading():
    gate = Gate()

    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        await gate.wait()
        return NotACommand()

    model = ScriptedModel()
    desk = Desk(model, read=read)
    engine = await desk.engine()
    heard: list[Result] = []

    async def submit() -> None:
        heard.append(result(await submitted(engine)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(submit)
        await gate.reached()
        engine.interrupt()
    assert heard[0].terminal_reason == "aborted_streaming"
    assert (model.requests, engine.get_messages()) == ([], [])


async def test_a_prompt_is_written_before_the_first_model_call_and_before_anything_else_of_its_query():
    written: list[int] = []

    def script(_request: ModelRequest, _number: int) -> Reply:
        written.append(len(records))
        return Reply(say("a"))

    desk = Desk(ScriptedModel(script=script))
    records = desk.journals[0].records
    await submitted(await desk.engine(), "go", uuid="mine")
    assert written == [1]
    assert isinstance(records[0], UserMessage)
    assert records[0].uuid == "mine"

"""What is submitted while a query runs waits, joins it or gets a turn of its own; each text has one fate and one Result."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import anyio
import pytest
from tests.engine.engine_scene import ClosingJournal, Desk, submitted

from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.slash.reply import NotACommand, SlashOutcome, SlashReply
from ostinato.errors import JournalError, UsageError
from ostinato.events import CommandLifecycle, Result, Terminal
from ostinato.messages import NO_USAGE, Text
from ostinato.ports import Abort, ModelRequest
from ostinato.records import QueueTaken, Record
from ostinato.testing import Gate, Reply, ScriptedModel, call, fake_tool, kinds, result, say, waits_at


class Submitter:
    """Submits in tasks of its own and keeps what each heard."""

    def __init__(self, engine: QueryEngine) -> None:
        self.engine = engine
        self.ended: list[str] = []
        self.results: dict[str, Result] = {}
        self.kinds: dict[str, tuple[str, ...]] = {}
        self.lifecycle: list[tuple[str, str]] = []

    async def submit(self, text: str) -> None:
        events = await submitted(self.engine, text, uuid=text)
        self.results[text], self.kinds[text] = result(events), kinds(events)
        self.lifecycle += [(e.uuid, e.state) for e in events if isinstance(e, CommandLifecycle)]
        self.ended.append(text)


def said(request: ModelRequest) -> list[str]:
    return [block.text for m in request.messages for block in m.content if isinstance(block, Text)]


async def started(tasks: anyio.abc.TaskGroup, submitter: Submitter, texts: Sequence[str]) -> None:
    for text in texts:
        tasks.start_soon(submitter.submit, text)
        await anyio.wait_all_tasks_blocked()


async def test_what_waits_gets_its_own_query_in_order():
    gate = Gate()
    model = ScriptedModel(Reply(gate, say("a")), Reply(say("b")), Reply(say("c")))
    submitter = Submitter(await Desk(model).engine())
    async with anyio.create_task_group() as tasks:
        await started(tasks, submitter, ("one", "two", "three"))
        assert len(model.requests) == 1
        assert [prompt.text for prompt in submitter.engine.queue.pending()] == ["two", "three"]
        gate.open()
    assert submitter.ended == ["one", "two", "three"]
    assert [len(request.messages) for request in model.requests] == [1, 3, 5]
    assert submitter.lifecycle == [
        ("two", "started"),
        ("two", "completed"),
        ("three", "started"),
        ("three", "completed"),
    ]


async def test_what_joins_the_running_query_ends_with_its_result_and_no_numbers_of_its_own():
    gate = Gate()
    model = ScriptedModel(Reply(call("Wait", "t1")), Reply(say("both")))
    submitter = Submitter(await Desk(model, tools=[fake_tool("Wait", waits_at(gate))]).engine())
    async with anyio.create_task_group() as tasks:
        await started(tasks, submitter, ("one",))
        await gate.reached()
        await started(tasks, submitter, ("two",))
        gate.open()
    joined, host = submitter.results["two"], submitter.results["one"]
    assert (joined.subtype, joined.text, joined.joined) == ("success", "both", host.uuid)
    assert (joined.usage, joined.total_cost_usd, joined.costs) == (NO_USAGE, 0.0, {})
    assert submitter.kinds["two"] == ("result",)
    assert len(model.requests) == 2
    assert "two" in str(model.requests[1].messages[-1])
    assert submitter.lifecycle == [("two", "started"), ("two", "completed")]


async def test_a_text_that_is_taken_back_is_not_sent_and_its_submission_ends_at_once():
    gate = Gate()
    model = ScriptedModel(Reply(gate, say("a")))
    submitter = Submitter(await Desk(model).engine())
    async with anyio.create_task_group() as tasks:
        await started(tasks, submitter, ("one", "two"))
        assert submitter.engine.queue.take_back("two") == "two"
        await anyio.wait_all_tasks_blocked()
        assert submitter.ended == ["two"]
        gate.open()
    assert (submitter.results["two"].is_error, submitter.results["two"].error_kind) == (True, "withdrawn")
    assert len(model.requests) == 1


async def test_a_consumer_that_leaves_while_it_waits_takes_its_text_along():
    gate = Gate()
    desk = Desk(ScriptedModel(Reply(gate, say("a")), Reply(say("b"))))
    submitter = Submitter(await desk.engine())
    async with anyio.create_task_group() as tasks:
        await started(tasks, submitter, ("one",))
        async with anyio.create_task_group() as impatient:
            await started(impatient, submitter, ("two",))
            impatient.cancel_scope.cancel()
        assert submitter.engine.queue.pending() == ()
        gate.open()
    assert any(isinstance(record, QueueTaken) for record in desk.journals[0].records)
    assert result(await submitted(submitter.engine, "three")).text == "b"


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_turn_that_is_given_to_a_consumer_that_leaves_at_that_moment_goes_on_to_the_next():
    """A host that cancels a task of its own that has its turn already, and does not know it yet."""
    gate = Gate()
    model = ScriptedModel(Reply(gate, say("a")), Reply(say("c")))
    engine = await Desk(model).engine()
    submitter = Submitter(engine)
    host = engine.submit_message("one")
    await anext(host)
    second = asyncio.ensure_future(submitter.submit("two"))
    async with anyio.create_task_group() as tasks:
        await anyio.wait_all_tasks_blocked()
        await started(tasks, submitter, ("three",))
        gate.open()
        async for event in host:
            if isinstance(event, Terminal):  # "two" has the turn now, and has not run yet
                second.cancel()
    assert second.cancelled()
    assert submitter.ended == ["three"]
    assert not engine.is_busy
    assert len(model.requests) == 2


async def test_a_query_whose_consumer_left_tells_those_who_joined_it():
    gate, second = Gate(), Gate()
    model = ScriptedModel(Reply(call("Wait", "t1")), Reply(second, say("never")))
    engine = await Desk(model, tools=[fake_tool("Wait", waits_at(gate))]).engine()
    submitter, leaving = Submitter(engine), anyio.CancelScope()

    async def host() -> None:
        with leaving:
            await submitter.submit("one")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(host)
        await gate.reached()
        await started(tasks, submitter, ("two",))
        gate.open()
        await second.reached()
        leaving.cancel()
    assert submitter.ended == ["two"]
    assert (submitter.results["two"].is_error, submitter.results["two"].error_kind) == (True, "left")
    assert not engine.is_busy


async def test_the_queue_is_run_text_by_text_until_nothing_waits():
    model = ScriptedModel(Reply(say("a")), Reply(say("b")))
    engine = await Desk(model).engine()
    engine.queue.put("one")
    engine.queue.put("two", priority="later")
    events = [event async for event in engine.run_queue()]
    assert [event.text for event in events if isinstance(event, Result)] == ["a", "b"]
    assert [event.reason for event in events if isinstance(event, Terminal)] == ["completed", "completed"]
    assert engine.queue.pending() == ()
    assert [event async for event in engine.run_queue()] == []


async def test_running_the_queue_waits_for_the_query_that_runs():
    gate = Gate()
    model = ScriptedModel(Reply(gate, say("a")), Reply(say("b")))
    engine = await Desk(model).engine()
    submitter = Submitter(engine)
    heard: list[str] = []

    async def run_queue() -> None:
        heard.extend([event.text async for event in engine.run_queue() if isinstance(event, Result)])

    async with anyio.create_task_group() as tasks:
        await started(tasks, submitter, ("one",))
        engine.queue.put("two", priority="later")
        tasks.start_soon(run_queue)
        await anyio.wait_all_tasks_blocked()
        assert len(model.requests) == 1
        gate.open()
    assert heard == ["b"]


async def test_a_closed_engine_takes_nothing_more_out_of_its_queue():
    model = ScriptedModel(Reply(say("a")), Reply(say("b")))
    engine = await Desk(model).engine()
    engine.queue.put("one")
    engine.queue.put("two")
    async with aclosing(engine.run_queue()) as events:
        async for event in events:
            if isinstance(event, Result):
                await engine.aclose()
    assert len(model.requests) == 1
    assert [waiting.text for waiting in engine.queue.pending()] == ["two"]


async def test_a_text_that_cannot_wait_interrupts_and_explains_itself():
    gate = Gate()
    model = ScriptedModel(Reply(gate, say("a")), Reply(say("b")))
    engine = await Desk(model).engine()
    submitter = Submitter(engine)
    async with anyio.create_task_group() as tasks:
        await started(tasks, submitter, ("one",))
        engine.queue.put("stop, do this", priority="now")
    assert submitter.results["one"].terminal_reason == "aborted_streaming"
    assert [e.text async for e in engine.run_queue() if isinstance(e, Result)] == ["b"]
    assert said(model.requests[1]) == ["one", "stop, do this"]


async def test_a_command_that_waited_is_announced_though_no_query_runs_for_it():
    async def read(prompt: str, abort: Abort) -> SlashOutcome:
        return SlashReply("12 tokens\n")

    engine = await Desk(ScriptedModel(), read=read).engine()
    engine.queue.put("/cost", uuid="c")
    events = [event async for event in engine.run_queue()]
    assert [(e.uuid, e.state) for e in events if isinstance(e, CommandLifecycle)] == [
        ("c", "started"),
        ("c", "completed"),
    ]
    assert kinds(events) == ("command_lifecycle", "system", "command_lifecycle", "result")


async def test_a_uuid_that_waits_already_is_refused():
    gate = Gate()
    engine = await Desk(ScriptedModel(Reply(gate, say("a")), Reply(say("b")))).engine()
    submitter = Submitter(engine)
    async with anyio.create_task_group() as tasks:
        await started(tasks, submitter, ("one", "two"))
        with pytest.raises(UsageError):
            await submitted(engine, "again", uuid="two")
        gate.open()
    assert submitter.ended == ["one", "two"]


class NothingTaken(ClosingJournal):
    """A session file on a disk that is full whenever a text is to leave the queue."""

    is_full = True

    def write(self, record: Record) -> None:
        if self.is_full and isinstance(record, QueueTaken):
            raise JournalError("the disk is full", hint="make room")
        super().write(record)


async def answers(prompt: str, abort: Abort) -> SlashOutcome:
    return SlashReply("said") if prompt.startswith("/") else NotACommand()


async def test_a_turn_that_cannot_be_written_down_is_told_as_that_and_the_text_still_waits():
    gate, journal = Gate(), NothingTaken()
    model = ScriptedModel(Reply(gate, say("a")), Reply(say("b")))
    engine = await Desk(model, journal=journal, read=answers).engine()
    submitter = Submitter(engine)
    async with anyio.create_task_group() as tasks:
        await started(tasks, submitter, ("one", "/two", "three"))
        gate.open()
    unsent = submitter.results["/two"]
    assert (unsent.is_error, unsent.error_kind, unsent.hint) == (True, "still_waiting", "make room")
    assert submitter.results["three"].text == "b"
    assert [prompt.text for prompt in engine.queue.pending()] == ["/two"]
    journal.is_full = False
    assert [e.text async for e in engine.run_queue() if isinstance(e, Result)] == ["said"]


async def test_a_queue_whose_next_text_cannot_be_taken_gives_the_turn_back():
    journal = NothingTaken()
    engine = await Desk(ScriptedModel(Reply(say("b"))), journal=journal, read=answers).engine()
    engine.queue.put("/one")
    with pytest.raises(JournalError):
        _ = [event async for event in engine.run_queue()]
    assert not engine.is_busy
    assert result(await submitted(engine, "two")).text == "b"

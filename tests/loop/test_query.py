"""A consumer may read slowly, leave at any time, or forget the query: nothing waits for ever and nothing is left behind."""

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.events import AnyModelEvent, AssistantEvent, AttachmentEvent, Event, Terminal, UserEvent
from ostinato.history import History
from ostinato.invariants import problems
from ostinato.loop.channel import CAPACITY_BATCHES
from ostinato.loop.query import query
from ostinato.messages import AssistantMessage, Message, ToolResult, UserMessage
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import Allowed, Denied, PermissionQuery
from ostinato.records import Record, ToolFinished, ToolStarted
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    Fails,
    FakeClock,
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    Turn,
    call,
    fake_tool,
    raises,
    say,
    stream_cut,
    waits_at,
)
from ostinato.testing.scripted_permissions import BY_TEST


async def settle() -> None:
    """Let everything that can run, run."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()


async def test_leaving_the_loop_ends_the_run_and_its_tools():
    gate, log = Gate(), RunLog()
    scene = Scene(ScriptedModel(Reply(call("Wait", "t1"))), [fake_tool("Wait", waits_at(gate), log=log)])
    events = query(scene.params(), scene.deps())
    async for event in events:
        if type(event).__name__ == "AssistantEvent":
            break
    await gate.reached()
    await events.aclose()
    assert log.ending_of("t1") == "cancelled"
    assert scene.model.open_streams == 0


@pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")  # trio's own remark, rightly
async def test_a_forgotten_generator_ends_the_run_too():
    gate, log = Gate(), RunLog()
    scene = Scene(ScriptedModel(Reply(call("Wait", "t1"))), [fake_tool("Wait", waits_at(gate), log=log)])

    async def forget() -> None:
        async for _ in query(scene.params(), scene.deps()):
            if gate.is_reached:
                return
            await anyio.lowlevel.checkpoint()
            if "t1" in log.started:
                return

    await forget()
    gc.collect()
    await settle()
    assert log.running == frozenset()


async def test_a_consumer_that_stops_reading_stops_the_producer_within_one_channel():
    asked: list[int] = []

    def script(_request: object, number: int) -> Turn:
        asked.append(number)
        return Reply(call("Look", f"t{number}"))

    scene = Scene(ScriptedModel(script=script), [fake_tool("Look")])
    events = query(scene.params(), scene.deps())
    await anext(events)
    await settle()
    before = len(scene.journal.records)
    await settle()
    assert len(scene.journal.records) == before
    assert len(asked) <= CAPACITY_BATCHES
    await events.aclose()


async def test_two_queries_share_one_event_loop_and_do_not_touch_each_other():
    async def play(name: str, results: dict[str, str]) -> None:
        scene = Scene(ScriptedModel(Reply(call("Look", "t1")), Reply(say(name))), [fake_tool("Look")])
        await scene.play()
        results[name] = scene.terminal.reason

    results: dict[str, str] = {}
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(play, str(number), results)
    assert results == {str(number): "completed" for number in range(20)}


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_model_call_that_ends_by_a_cancellation_of_its_own_ends_in_a_terminal():
    @asynccontextmanager
    async def stream(_request: object) -> AsyncGenerator[AsyncIterator[Sequence[AnyModelEvent]], None]:
        raise asyncio.CancelledError
        yield  # pragma: no cover - makes it a generator

    scene = Scene(ScriptedModel())
    deps = replace(scene.deps(), call_model=stream)
    events = [event async for event in query(scene.params(), deps)]
    assert [event.reason for event in events if isinstance(event, Terminal)] == ["model_error"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("is_under_way", [False, True], ids=["before it began", "under way"])
async def test_a_host_that_cancels_our_tasks_gets_a_terminal_and_can_ask_again(is_under_way: bool):
    gate = Gate()
    scene = Scene(ScriptedModel(Reply(say("a"), gate, say("b"))))
    others = asyncio.all_tasks()
    playing = asyncio.ensure_future(scene.play())
    while not (gate.is_reached if is_under_way else asyncio.all_tasks() - others - {playing}):
        await anyio.lowlevel.checkpoint()
    for ours in asyncio.all_tasks() - others - {playing}:
        ours.cancel()
    gate.open()
    await playing
    assert scene.terminal.reason == ("aborted_streaming" if is_under_way else "completed")
    assert sum(isinstance(event, Terminal) for event in scene.events) == 1
    again = Scene(ScriptedModel(Reply(say("hello"))))
    await again.play()
    assert again.terminal.reason == "completed"


setting: ContextVar[str] = ContextVar("setting", default="")


async def test_a_run_sees_the_context_variables_of_its_own_caller():
    seen: list[str] = []

    async def look(_input: object, _context: object) -> None:
        seen.append(setting.get())

    async def play(name: str) -> None:
        setting.set(name)
        await Scene(
            ScriptedModel(Reply(call("Look", "t1")), Reply(say("ok"))), [fake_tool("Look", look)]
        ).play()

    async with anyio.create_task_group() as tasks:
        for name in ("a", "b", "c"):
            tasks.start_soon(play, name)
    assert sorted(seen) == ["a", "b", "c"]


def test_the_interpreter_can_leave_while_a_query_runs():
    started = RunLog()

    async def main() -> None:
        gate = Gate()
        scene = Scene(
            ScriptedModel(Reply(call("Wait", "t1"))), [fake_tool("Wait", waits_at(gate), log=started)]
        )
        held = query(scene.params(), scene.deps())
        keep.append(held)
        await anext(held)
        await gate.reached()

    keep: list[object] = []
    for backend in ("asyncio", "trio"):
        anyio.run(main, backend=backend)
    assert started.running == frozenset()


# ------------------------------------------------------------------ random scripts, aborts and walk-aways

calls = st.sampled_from(["Look", "Fails", "Nothing", "Alone"])
blocks = st.lists(st.one_of(st.just("text"), calls), min_size=1, max_size=4)
turns = st.lists(
    st.tuples(blocks, st.sampled_from(["reply", "cut", "fails", "refusal", "max_tokens"])), max_size=5
)


def scripted(plan: list[tuple[list[str], str]]) -> list[Turn]:
    made: list[Turn] = []
    for number, (parts, how) in enumerate(plan):
        said = [say(f"t{number}") if p == "text" else call(p, f"c{number}_{i}") for i, p in enumerate(parts)]
        if how == "fails":
            made.append(Fails(stream_cut()))
        elif how == "cut":
            made.append(Cut(Reply(*said), after_events=len(parts) * 2))
        else:
            made.append(Reply(*said, stop_reason=None if how == "reply" else how))
    return [*made, *(Reply(say("end")) for _ in range(6))]


def is_sound(view: list[Message]) -> None:
    """Everything that a later query needs: legal once a new prompt is put behind it."""
    messages = Normaliser(SCRIPTED_FACTS, strict=True).request_messages(
        History.empty().extend([*view, UserMessage("next", (say("next"),))])
    )
    assert problems(messages) == ()
    calls = [c.id for m in view if isinstance(m, AssistantMessage) for c in m.tool_uses]
    answers = [
        b.tool_use_id
        for m in view
        if isinstance(m, UserMessage)
        for b in m.content
        if isinstance(b, ToolResult)
    ]
    assert sorted(calls) == sorted(answers)


def is_accounted_for(records: list[Record], log: RunLog, events: list[Event]) -> None:
    """Each call ended once, none started after its end or unwritten, and what was shown as final was written."""
    over: list[str] = []
    started: list[str] = []
    for record in records:
        if isinstance(record, ToolStarted):
            assert record.tool_use_id not in over
            started.append(record.tool_use_id)
        if isinstance(record, ToolFinished):
            over.append(record.tool_use_id)
    assert sorted(over) == sorted(
        c.id for r in records if isinstance(r, AssistantMessage) for c in r.tool_uses
    )
    assert set(log.started) <= set(started)
    assert len(started) == len(set(started))
    written = {record.uuid for record in records if isinstance(record, Message)}
    shown = [e.message.uuid for e in events if isinstance(e, AssistantEvent | UserEvent | AttachmentEvent)]
    assert len(shown) == len(set(shown))
    assert set(shown) <= written


async def takes_steps(_input: object, _context: object) -> None:
    """Long enough for other calls to wait behind it."""
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


class TakesTime:
    """A gate that answers after a few steps, so that an abort can meet it; some answers end the query."""

    def __init__(self, answers: list[str]) -> None:
        self._answers = answers
        self._asked = 0

    async def decide(self, query: PermissionQuery) -> Allowed | Denied:
        answer = self._answers[self._asked % len(self._answers)]
        self._asked += 1
        for _ in range(self._asked % 3):
            await anyio.lowlevel.checkpoint()
        if answer == "allow":
            return Allowed(BY_TEST)
        return Denied(BY_TEST, query.tool_use_id, interrupt=answer == "stop")


async def walk(scene: Scene, abort_at: int, leave_at: int) -> list[Event]:
    events: list[Event] = []
    stream = query(scene.params(), scene.deps())
    async for event in stream:
        events.append(event)
        if len(events) == abort_at:
            scene.abort.abort("user")
        if len(events) == leave_at:
            break
    await stream.aclose()
    return events


def check_walk(
    plan: list[tuple[list[str], str]],
    abort_at: int,
    leave_at: int,
    config: QueryConfig,
    answers: list[str],
    backend: str,
) -> None:
    log = RunLog()
    scene = Scene(
        ScriptedModel(*scripted(plan)),
        [
            fake_tool("Look", takes_steps, log=log, is_read_only=True),
            fake_tool("Fails", raises(ValueError("no")), log=log),
            fake_tool("Alone", takes_steps, log=log),
        ],
        permissions=TakesTime(answers),
        max_turns=6,
        config=config,
        clock=FakeClock(auto_advance=True),
    )
    events = anyio.run(walk, scene, abort_at, leave_at, backend=backend)
    ends = [event for event in events if isinstance(event, Terminal)]
    assert len(ends) == (1 if len(events) < leave_at or isinstance(events[-1], Terminal) else 0)
    assert not ends or events[-1] is ends[0]
    assert log.running == frozenset()
    assert scene.model.open_streams == 0
    is_sound(scene.written.view())
    is_accounted_for(scene.journal.records, log, events)


configs = st.builds(
    QueryConfig,
    streaming_tool_execution=st.booleans(),
    sequential_tools=st.booleans(),
    max_retries=st.integers(0, 3),
    normalise_strictly=st.just(True),
)
decisions = st.lists(st.sampled_from(["allow", "allow", "deny", "stop"]), min_size=1, max_size=4)


@settings(max_examples=120, deadline=None)
@given(turns, st.integers(0, 40), st.integers(1, 60), configs, decisions)
def test_any_script_with_any_abort_and_any_walk_away_leaves_a_sound_history_on_asyncio(
    plan: list[tuple[list[str], str]], abort_at: int, leave_at: int, config: QueryConfig, answers: list[str]
):
    check_walk(plan, abort_at, leave_at, config, answers, "asyncio")


@settings(max_examples=120, deadline=None)
@given(turns, st.integers(0, 40), st.integers(1, 60), configs, decisions)
def test_any_script_with_any_abort_and_any_walk_away_leaves_a_sound_history_on_trio(
    plan: list[tuple[list[str], str]], abort_at: int, leave_at: int, config: QueryConfig, answers: list[str]
):
    check_walk(plan, abort_at, leave_at, config, answers, "trio")

"""Whatever is submitted, interrupted, left, taken back and changed in whatever order: one Result each, and legal requests."""

from collections.abc import Sequence
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.engine_scene import OTHER_FACTS, Desk, submitted

from ostinato.engine.query_engine import QueryEngine
from ostinato.errors import ModelError
from ostinato.events import Event, Result, Terminal
from ostinato.messages import NO_USAGE
from ostinato.ports import ModelRequest
from ostinato.testing import Cut, Fails, Reply, RunLog, ScriptedModel, call, fake_tool, result, say, think
from ostinato.testing.script import Turn
from ostinato.tool import ToolContext, ToolOutcome

Step = tuple[str, int]

STEPS = st.tuples(
    st.sampled_from((
        "submit",
        "submit",
        "submit",
        "put",
        "interrupt",
        "leave",
        "take_back",
        "model",
        "mode",
        "clear",
        "pass",
        "pass",
    )),
    st.integers(0, 12),
)
TURNS = st.sampled_from(("say", "say", "think", "look", "look", "two", "cut", "fail"))


def turn(name: str, number: int) -> Turn:
    match name:
        case "think":
            return Reply(think("hm"), say(f"thought {number}"))
        case "look":
            return Reply(say("I look."), call("Look", f"t{number}"))
        case "two":
            return Reply(call("Look", f"a{number}"), call("Look", f"b{number}"))
        case "cut":
            return Cut(Reply(say("half"), call("Look", f"c{number}")), after_blocks=1)
        case "fail":
            return Fails(ModelError("no", kind="invalid_request", status=400))
        case _:
            return Reply(say(f"said {number}"))


async def slowly(_input: object, _context: ToolContext) -> ToolOutcome:
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    return ToolOutcome("seen")


class Course:
    """Plays steps against an engine and keeps what every consumer heard."""

    def __init__(self, turns: Sequence[str]) -> None:
        self._turns = turns
        self.heard: list[list[Event]] = []
        self.rest: list[Event] = []
        self.scopes: list[anyio.CancelScope] = []
        self.is_probing = False
        self._asked = 0

    def script(self, request: ModelRequest, _number: int) -> Turn:
        """Numbers over both models: call ids are unique in the conversation, as real ones are."""
        self._asked += 1
        number = self._asked
        if self.is_probing:
            return Reply(say("alive"))
        name = self._turns[number % len(self._turns)]
        last = request.messages[-1].content
        return Reply(say("enough")) if len(str(last)) > 2_000 else turn(name, number)

    async def consume(self, engine: QueryEngine, text: str) -> None:
        events, scope = list[Event](), anyio.CancelScope()
        self.heard.append(events)
        self.scopes.append(scope)
        with scope:
            async for event in engine.submit_message(text):
                events.append(event)

    async def play(self, steps: Sequence[Step]) -> None:
        models = [ScriptedModel(script=self.script), ScriptedModel(script=self.script, facts=OTHER_FACTS)]
        desk = Desk(*models, tools=[fake_tool("Look", slowly, log=RunLog())], max_turns=4)
        engine = await desk.engine()
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for name, number in steps:
                    await self._do(name, number, engine, tasks)
            self.rest = [event async for event in engine.run_queue()]
        self.is_probing = True
        assert result(await submitted(engine, "are you there?")).text == "alive"
        self.check(engine, has_cleared=any(name == "clear" for name, _ in steps))

    async def _do(self, name: str, number: int, engine: QueryEngine, tasks: anyio.abc.TaskGroup) -> None:
        match name:
            case "submit":
                tasks.start_soon(self.consume, engine, f"do {number}")
                await anyio.lowlevel.checkpoint()
            case "put":
                engine.queue.put(f"also {number}", priority=("now", "next", "later")[number % 3])
            case "interrupt":
                engine.interrupt()
            case "leave" if self.scopes:
                self.scopes[number % len(self.scopes)].cancel()
            case "take_back" if pending := engine.queue.pending():
                engine.queue.take_back(pending[number % len(pending)].uuid)
            case "model":
                await engine.set_model(("scripted-1", "scripted-2")[number % 2])
            case "mode":
                engine.set_permission_mode(("plan", "default")[number % 2])
            case "clear" if not engine.is_busy:
                await engine.clear()
            case _:
                for _ in range(number * 3):
                    await anyio.lowlevel.checkpoint()

    def check(self, engine: QueryEngine, *, has_cleared: bool) -> None:
        assert not engine.is_busy
        assert engine.queue.pending() == ()
        for told in (event for event in self.rest if isinstance(event, Result)):
            assert told.error_kind not in {"IllegalHistory", "internal"}
        for events, scope in zip(self.heard, self.scopes, strict=True):
            results = [event for event in events if isinstance(event, Result)]
            terminals = [event for event in events if isinstance(event, Terminal)]
            if not scope.cancel_called:
                assert [events[-1]] == results
            assert len(results) <= 1
            assert len(terminals) <= 1
            assert all(
                told.error_kind not in {"IllegalHistory", "internal"} for told in (*results, *terminals)
            )
        if not has_cleared:
            told = NO_USAGE
            for event in (event for events in self.heard for event in events if isinstance(event, Result)):
                told = told.plus(event.tree_usage)
            assert told.output_tokens <= engine.usage.output_tokens


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(steps=st.lists(STEPS, max_size=25), turns=st.lists(TURNS, min_size=1, max_size=6))
def test_each_submission_ends_with_one_result_and_the_conversation_goes_on(
    backend: str, steps: Sequence[Step], turns: Sequence[str]
):
    anyio.run(partial(Course(turns).play, steps), backend=backend)

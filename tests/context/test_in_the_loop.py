"""The pipeline where it works: between the passes of a query, with a model that is asked for the summary."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.context.compactions import ACCOUNT, is_summary, pipeline
from tests.context.talks import prose
from tests.loop.scene import Scene

from ostinato.context.autocompact import MAX_FAILURES
from ostinato.engine.budget import TreeBudget
from ostinato.errors import ModelError
from ostinato.events import Event, SideUsage, SystemEvent
from ostinato.loop.budget import BudgetLimits
from ostinato.loop.compaction_notices import COMPACTED, WITHOUT_MODEL
from ostinato.loop.query import events_of, query
from ostinato.loop.run import Run
from ostinato.messages import Usage
from ostinato.ports import ModelRequest
from ostinato.records import Attempt, Boundary
from ostinato.testing import (
    SCRIPTED_FACTS,
    Fails,
    FakeClock,
    Gate,
    Reply,
    ScriptedModel,
    Turn,
    answers,
    call,
    fake_tool,
    say,
)

SMALL = replace(SCRIPTED_FACTS, context_window=20_000, max_output_tokens=4_000)
WISH = "Read all files, and change none."
SUMMARY = Reply(say(ACCOUNT), usage=Usage(9_000, 200))


class Talk:
    """A model that reads `rounds` files one after another, each result as long as it says, and then is done."""

    def __init__(
        self, rounds: int, characters: int, summary: Turn = SUMMARY, *, window: int = 20_000
    ) -> None:
        self.rounds = rounds
        self.asked_before_first_summary = 0
        self.asked: list[ModelRequest] = []
        self.summaries: list[ModelRequest] = []
        self._summary = summary
        facts = replace(SMALL, context_window=window)
        self.model = ScriptedModel(script=self._turn, facts=facts)
        look = fake_tool("Look", answers(prose(characters, "seen")))
        self.scene = Scene(self.model, [look], prompt=WISH, clock=FakeClock(auto_advance=True))

    def _turn(self, request: ModelRequest, _number: int) -> Turn:
        if is_summary(request):
            self.asked_before_first_summary = self.asked_before_first_summary or len(self.asked)
            self.summaries.append(request)
            return self._summary
        self.asked.append(request)
        done = len(self.asked)
        return (
            Reply(call("Look", f"t{done}", number=done), usage=Usage())
            if done <= self.rounds
            else Reply(say("done"))
        )

    async def play(self) -> list[Event]:
        deps = replace(self.scene.deps(), prepare_context=pipeline())
        self.scene.run = Run(self.scene.params(), deps)
        self.scene.events = [event async for event in events_of(self.scene.run)]
        return self.scene.events


def told(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.message.subtype, event.message.text) for event in events if isinstance(event, SystemEvent)]


def notices(events: Sequence[Event]) -> list[str]:
    return [event.message.subtype for event in events if isinstance(event, SystemEvent)]


async def test_a_long_task_goes_on_within_a_small_window_and_the_wish_is_in_every_request():
    talk = Talk(12, 9_000)
    events = await talk.play()
    assert talk.scene.terminal.reason == "completed"
    assert len(talk.asked) == 13
    assert len(talk.summaries) >= 2
    assert all("change none" in str(request.messages) for request in talk.asked)
    assert notices(events).count("compact_boundary") == len(talk.summaries)
    assert {text for subtype, text in told(events) if subtype == "compact_boundary"} == {COMPACTED}
    assert [r.trigger for r in talk.scene.journal.records if isinstance(r, Boundary)] == ["auto"] * len(
        talk.summaries
    )
    assert (
        talk.scene.view[0].uuid
        == [r for r in talk.scene.journal.records if isinstance(r, Boundary)][-1].summary.uuid
    )


async def test_the_summary_is_asked_with_the_same_beginning_as_the_next_request_would_have():
    talk = Talk(12, 9_000)
    await talk.play()
    summary, before = talk.summaries[0], talk.asked[talk.asked_before_first_summary - 1]
    assert summary.system == before.system
    assert summary.tools == before.tools
    assert summary.thinking == before.thinking
    assert list(summary.messages[: len(before.messages)]) == list(before.messages)
    assert summary.tracking.depth == before.tracking.depth + 1


async def test_what_a_summary_cost_is_told_and_written_beside_the_conversation():
    talk = Talk(12, 9_000)
    events = await talk.play()
    costs = [event.usage for event in events if isinstance(event, SideUsage)]
    assert costs == [Usage(9_000, 200)] * len(talk.summaries)
    written = [r for r in talk.scene.journal.records if isinstance(r, Attempt) and r.source == "compact"]
    assert [attempt.usage for attempt in written] == costs


async def test_a_model_that_writes_no_summary_is_asked_three_times_and_the_work_goes_on_without_one():
    talk = Talk(12, 9_000, Reply(say("no")))
    events = await talk.play()
    assert talk.scene.terminal.reason == "completed"
    assert notices(events).count("compact_failed") == MAX_FAILURES
    assert "compact_boundary" in notices(events)
    assert {text for subtype, text in told(events) if subtype == "compact_boundary"} == {WITHOUT_MODEL}
    assert all("change none" in str(request.messages) for request in talk.asked)


async def test_a_window_that_fills_at_once_again_and_again_ends_the_query_with_a_reason():
    talk = Talk(60, 45_000, window=40_000)
    await talk.play()
    terminal = talk.scene.terminal
    assert terminal.reason == "rapid_refill_breaker"
    assert terminal.hint
    assert len(talk.summaries) <= 4


async def test_an_abort_while_the_summary_is_written_ends_the_query_and_changes_nothing():
    gate = Gate()
    talk = Talk(12, 9_000, Reply(gate, say(ACCOUNT)))
    seen: list[Event] = []
    deps = replace(talk.scene.deps(), prepare_context=pipeline())
    async for event in query(talk.scene.params(), deps):
        seen.append(event)
        if talk.summaries and talk.scene.abort.reason is None:
            talk.scene.abort.abort("user")
    assert not any(isinstance(record, Boundary) for record in talk.scene.journal.records)
    assert talk.model.open_streams == 0


async def test_what_an_interrupted_summary_had_used_counts_and_no_request_is_told_that_was_never_sent():
    gate = Gate()
    talk = Talk(12, 9_000, Reply(say(ACCOUNT), gate, usage=Usage(9_000, 200)))
    deps = replace(talk.scene.deps(), prepare_context=pipeline())
    async for _ in query(talk.scene.params(), deps):
        if talk.summaries and talk.scene.abort.reason is None:
            talk.scene.abort.abort("user")
    attempts = [record for record in talk.scene.journal.records if isinstance(record, Attempt)]
    assert [one.outcome for one in attempts if one.source == "compact"] == ["aborted"]
    assert [one.outcome for one in attempts if not one.source] == ["ok"] * len(talk.asked)


async def test_a_summary_that_the_budget_has_no_room_for_is_not_asked():
    talk = Talk(12, 9_000)
    priced = TreeBudget(BudgetLimits(None, 14_000, None), talk.scene.clock)
    talk.scene.budget = priced
    await talk.play()
    assert talk.scene.terminal.reason == "budget_exhausted"
    assert talk.summaries == []


@pytest.mark.parametrize("kind", ["overloaded", "server"])
async def test_a_summary_whose_call_fails_is_retried_a_little_and_then_let_be(kind: str):
    error = ModelError("no", kind="overloaded" if kind == "overloaded" else "server", retry=True, status=500)
    talk = Talk(9, 9_000, Fails(error))
    await talk.play()
    assert talk.scene.terminal.reason == "completed"
    assert len(talk.summaries) == (MAX_FAILURES if kind == "overloaded" else 3 * MAX_FAILURES)

"""A budget ends a query before the call that would exceed it, in order: everything said and done is kept, and it can go on."""

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.loop.scene import Scene
from tests.loop.test_query import is_sound

from ostinato.engine.budget import TreeBudget
from ostinato.events import AssistantEvent, RequestStart, SystemEvent, ToolEnd
from ostinato.loop.budget import BudgetLimits
from ostinato.loop.query import query
from ostinato.messages import Text, ToolUse, Usage
from ostinato.ports import ModelRequest, Prices
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    Fails,
    FakeClock,
    Gate,
    MemoryJournal,
    Reply,
    ScriptedModel,
    Turn,
    broken_call,
    call,
    fake_tool,
    kinds,
    say,
    stream_cut,
    terminal,
    transitions,
    waits_at,
)

PRICED = replace(SCRIPTED_FACTS, prices=Prices(1, 10))


def limited(
    scene: Scene, *, tokens: int | None = None, usd: float | None = None, time_s: float | None = None
) -> TreeBudget:
    budget = TreeBudget(BudgetLimits(usd, tokens, time_s), scene.clock)
    scene.budget = budget
    return budget


def for_ever(usage: Usage) -> ScriptedModel:
    def script(_request: ModelRequest, number: int) -> Turn:
        return Reply(call("Look", f"t{number}"), usage=usage)

    return ScriptedModel(script=script, facts=PRICED)


@pytest.mark.parametrize(("tokens", "usd"), [(100_000, None), (None, 0.1)], ids=["tokens", "dollars"])
async def test_a_loop_without_end_is_ended_by_the_budget_before_it_is_exceeded(
    tokens: int | None, usd: float | None
):
    scene = Scene(for_ever(Usage(20_000, 1_000)), [fake_tool("Look")])
    budget = limited(scene, tokens=tokens, usd=usd)
    events = await scene.play()
    assert scene.terminal.reason == "budget_exhausted"
    assert scene.terminal.error_kind == ("budget_tokens" if tokens else "budget_usd")
    assert scene.terminal.hint
    assert budget.spent_tokens <= (tokens or budget.spent_tokens)
    assert budget.spent_usd <= (usd or budget.spent_usd)
    assert set(transitions(scene.terminal)) == {"next_turn"}
    asked = [event for event in events if isinstance(event, RequestStart)]
    assert len(asked) == len(scene.model.requests)  # the call that was not made was not announced
    is_sound(scene.view)


@pytest.mark.parametrize("searches_web", [False, True])
async def test_a_call_whose_searches_might_exceed_the_limit_is_not_sent(searches_web: bool):
    model = ScriptedModel(Reply(say("found")), facts=replace(PRICED, searches_web=True))
    scene = Scene(model, max_output_tokens=100)
    limited(scene, usd=0.03)
    params = scene.params()
    params = replace(params, settings=replace(params.settings, searches_web=searches_web))
    events = [event async for event in query(params, scene.deps())]
    assert len(model.requests) == (0 if searches_web else 1)
    assert terminal(events).reason == ("budget_exhausted" if searches_web else "completed")


@pytest.mark.parametrize("searches_web", [False, True])
@pytest.mark.parametrize(
    "said", [say("half a"), broken_call("Look", "t1", '{"a": ')], ids=["words", "a call"]
)
async def test_a_cut_reply_is_not_thrown_away_for_one_that_possible_searches_leave_no_room_for(
    searches_web: bool, said: Text | ToolUse
):
    """There is money for 64,000 tokens, and for 32,000 with five searches."""
    facts = replace(SCRIPTED_FACTS, prices=Prices(1, 1), searches_web=True)
    model = ScriptedModel(Reply(said, stop_reason="max_tokens"), Reply(say("whole")), facts=facts)
    scene = Scene(model, [fake_tool("Look")])
    limited(scene, usd=0.1)
    params = scene.params()
    params = replace(params, settings=replace(params.settings, searches_web=searches_web))
    ended = terminal([event async for event in query(params, scene.deps())])
    assert ("max_output_tokens_escalate" in transitions(ended)) != searches_web
    assert [request.max_output_tokens for request in model.requests] == [
        32_000,
        32_000 if searches_web else 64_000,
    ]


async def test_a_query_that_cannot_afford_its_first_call_sends_nothing():
    scene = Scene(ScriptedModel(Reply(say("never"))))
    limited(scene, tokens=10)
    events = await scene.play()
    assert scene.model.requests == []
    assert kinds(events) == ("terminal",)
    assert scene.terminal.reason == "budget_exhausted"


async def test_the_last_call_is_allowed_only_the_output_that_fits():
    scene = Scene(ScriptedModel(Reply(say("short"))))
    limited(scene, tokens=5_000)
    await scene.play()
    assert 1_024 <= scene.model.requests[0].max_output_tokens < 5_000
    assert scene.terminal.reason == "completed"


async def test_a_reply_cut_at_the_shortened_limit_names_that_limit():
    scene = Scene(ScriptedModel.repeating(Reply(say("short"), stop_reason="max_tokens")))
    limited(scene, tokens=5_000)
    await scene.play()
    (note,) = [m for m in scene.view if getattr(m, "is_error", False)]
    assert str(scene.model.requests[-1].max_output_tokens) in str(note)
    assert "max_output_tokens_escalate" not in transitions(scene.terminal)  # more is what it cannot have


@pytest.mark.parametrize(("tokens", "is_said_again"), [(68_000, True), (60_000, False), (33_000, False)])
async def test_a_long_reply_is_not_thrown_away_for_a_limit_that_the_budget_does_not_leave(
    tokens: int, is_said_again: bool
):
    cut = Reply(say("a long part"), stop_reason="max_tokens", usage=Usage(100, 3_000))
    scene = Scene(ScriptedModel(cut, Reply(say("the rest")), facts=PRICED))
    limited(scene, tokens=tokens)
    await scene.play()
    way = "max_output_tokens_escalate" if is_said_again else "max_output_tokens_recovery"
    assert transitions(scene.terminal) == (way,)
    said = str(scene.view)
    assert ("a long part" in said) is not is_said_again
    assert scene.terminal.reason == "completed"


async def test_calls_of_several_queries_at_the_same_time_share_one_budget():
    clock, gate = FakeClock(), Gate()
    budget = TreeBudget(BudgetLimits(max_total_tokens=50_000), clock)
    scenes = [Scene(ScriptedModel(Reply(gate, say("a"))), budget=budget, clock=clock) for _ in range(3)]
    async with anyio.create_task_group() as tasks:
        for scene in scenes:
            tasks.start_soon(scene.play)
        await gate.reached()
        gate.open()
    allowed = sorted(request.max_output_tokens for scene in scenes for request in scene.model.requests)
    assert sum(allowed) < 50_000
    assert sorted(scene.terminal.reason for scene in scenes) in (
        ["budget_exhausted", "completed", "completed"],
        ["completed", "completed", "completed"],
    )


@pytest.mark.parametrize("how", ["cut", "aborted"])
async def test_what_a_broken_reply_has_used_is_counted(how: str):
    gate = Gate()
    said = Reply(say("x" * 25_000), gate, say("y"), usage=Usage(10_000, 9_000))
    scene = Scene(ScriptedModel(Cut(said, after_blocks=1) if how == "cut" else said))
    budget = limited(scene, tokens=200_000)
    if how == "cut":
        gate.open()
        await scene.play()
    else:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.play)
            await gate.reached()
            scene.abort.abort("user")
    assert 20_000 <= budget.spent_tokens <= 20_100  # the input as reported, the output by its length


async def test_a_call_that_was_refused_costs_nothing_and_holds_nothing():
    scene = Scene(ScriptedModel(Fails(stream_cut())))
    budget = limited(scene, tokens=40_000)
    await scene.play()
    assert budget.spent_tokens == 0
    again = Scene(ScriptedModel(Reply(say("a"))), budget=budget, clock=scene.clock)
    await again.play()
    assert again.model.requests[0].max_output_tokens == 32_000


async def test_the_user_is_warned_once_before_it_is_too_late_and_the_model_is_not():
    unguarded = QueryConfig(normalise_strictly=True, loop_guard="off")
    scene = Scene(for_ever(Usage(20_000, 1_000)), [fake_tool("Look")], config=unguarded)
    limited(scene, tokens=200_000)
    events = await scene.play()
    notices = [event.message for event in events if isinstance(event, SystemEvent)]
    assert [(notice.subtype, notice.level) for notice in notices] == [("budget_warning", "warning")]
    assert notices[0] in scene.view
    assert not any("budget" in str(request.messages) for request in scene.model.requests)


# ------------------------------------------------------------------ time


@pytest.mark.parametrize("config", [QueryConfig(), QueryConfig(streaming_tool_execution=False)])
async def test_when_the_time_is_over_tools_are_stopped_and_answered_and_the_query_ends(config: QueryConfig):
    gate = Gate()
    scene = Scene(
        ScriptedModel(Reply(say("I look"), call("Wait", "t1"))),
        [fake_tool("Wait", waits_at(gate))],
        config=config,
    )
    limited(scene, time_s=30)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await scene.clock.until_sleeping()
        scene.clock.advance(30)
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("budget_exhausted", "budget_time")
    assert [event.outcome for event in scene.events if isinstance(event, ToolEnd)] == ["cancelled"]
    is_sound(scene.view)
    again = Scene(ScriptedModel(Reply(say("done"))), before=scene.view, prompt="go on")
    await again.play()
    assert again.terminal.reason == "completed"


async def test_when_the_time_is_over_a_reply_that_streams_keeps_what_is_complete():
    gate = Gate()
    scene = Scene(ScriptedModel(Reply(say("first"), gate, say("second"))))
    limited(scene, time_s=30)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.clock.advance(31)
    assert scene.terminal.reason == "budget_exhausted"
    assert any(getattr(message, "text", "") == "first" for message in scene.view)


async def test_a_query_that_ends_in_time_leaves_no_watch_behind():
    scene = Scene(ScriptedModel(Reply(say("done"))))
    limited(scene, time_s=30)
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert scene.clock.sleepers == 0


async def test_leaving_a_query_with_a_time_limit_leaves_no_watch_behind():
    gate = Gate()
    scene = Scene(ScriptedModel(Reply(say("a"), gate, say("b"))))
    budget = limited(scene, time_s=30)
    events = query(scene.params(), scene.deps())
    async for event in events:
        if isinstance(event, AssistantEvent):
            break
    await scene.clock.until_sleeping()
    await events.aclose()
    assert scene.clock.sleepers == 0
    scene.clock.advance(100)
    assert budget.remaining_s == 30  # what was left does not count on


async def test_an_error_of_a_query_with_a_time_limit_is_told_as_it_is():
    scene = Scene(ScriptedModel(Reply(say("a"))), journal=MemoryJournal(fail_at_write=2))
    limited(scene, time_s=30)
    await scene.play()
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("model_error", "JournalError")
    assert scene.clock.sleepers == 0


async def test_the_time_of_all_queries_together_is_limited():
    first = Scene(ScriptedModel(Fails(stream_cut(), before=(gate := Gate()))))
    budget = limited(first, time_s=30)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first.play)
        await gate.reached()
        first.clock.advance(29)
        gate.open()
    second = Scene(ScriptedModel(Reply(waits := Gate(), say("a"))), budget=budget, clock=first.clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(second.play)
        await waits.reached()
        first.clock.advance(1)
    assert second.terminal.reason == "budget_exhausted"


# ------------------------------------------------------------------ any script

usages = st.builds(Usage, *(st.integers(0, 5_000) for _ in range(4)))
turns = st.lists(
    st.tuples(st.sampled_from(["reply", "call", "cut", "fails"]), usages), min_size=1, max_size=6
)


@settings(max_examples=100, deadline=None)
@given(turns, st.integers(1, 60_000))
def test_whatever_the_model_does_the_query_ends_soundly_and_nothing_stays_reserved(
    plan: list[tuple[str, Usage]], tokens: int
):
    made: list[Turn] = []
    for number, (how, usage) in enumerate(plan):
        reply = Reply(say("a"), *([call("Look", f"t{number}")] if how == "call" else []), usage=usage)
        made.append({"cut": Cut(reply, after_events=4), "fails": Fails(stream_cut())}.get(how, reply))
    scene = Scene(ScriptedModel(*made, Reply(say("end"))), [fake_tool("Look")])
    budget = limited(scene, tokens=tokens)
    anyio.run(scene.play)
    assert scene.terminal.reason in {"completed", "budget_exhausted", "model_error"}
    is_sound(scene.written.view())
    left = budget.reserve(SCRIPTED_FACTS, lambda: 0, 1)
    assert getattr(left, "max_output_tokens", 0) == (1 if budget.spent_tokens < tokens else 0)

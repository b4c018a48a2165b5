"""A token target sends a model that stops early on, until nine tenths are spent or nothing more comes of it."""

import pytest
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.events import SystemEvent
from ostinato.loop.token_budget import MAX_NUDGES, Enough, KeepWorking, decide
from ostinato.messages import SystemMessage, Usage, UserMessage
from ostinato.ports import QuerySource
from ostinato.state import TokenTarget
from ostinato.stop_hooks import BlockStop, StopDecision, Stopping
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say, transitions

TARGET = TokenTarget(100_000, started_s=10.0)
NUDGED = "token_budget_continuation"


def saying(*tokens: int) -> ScriptedModel:
    """Answers that use so many output tokens, one after the other."""
    return ScriptedModel(*(Reply(say("done"), usage=Usage(100, used)) for used in tokens))


def completions(scene: Scene) -> list[SystemMessage]:
    return [m for m in scene.view if isinstance(m, SystemMessage) and m.subtype == "token_budget_completed"]


@pytest.mark.parametrize(
    ("used", "goes_on"), [(0, True), (89_999, True), (90_000, False), (100_000, False), (250_000, False)]
)
def test_nine_tenths_of_the_target_are_enough(used: int, goes_on: bool):
    assert isinstance(decide(TARGET, 0, used, 10.0), KeepWorking) is goes_on


@pytest.mark.parametrize(
    ("nudges", "last_gained", "gained", "goes_on"),
    [
        (3, 499, 499, False),
        (2, 499, 499, True),
        (3, 500, 499, True),
        (3, 499, 500, True),
        (19, 5_000, 5_000, True),
    ],
)
def test_two_small_gains_after_three_nudges_are_the_end(
    nudges: int, last_gained: int, gained: int, goes_on: bool
):
    target = replace_target(last_gained, 10_000)
    decision = decide(target, nudges, 10_000 + gained, 12.5)
    assert isinstance(decision, KeepWorking) is goes_on
    if isinstance(decision, Enough):
        assert decision == Enough(nudges, 10, 10_000 + gained, 100_000, True, 2_500)


def replace_target(last_gained: int, last_turn: int) -> TokenTarget:
    return TokenTarget(TARGET.tokens, TARGET.started_s, last_gained, last_turn)


def test_nudges_have_a_cap_of_their_own():
    assert isinstance(decide(replace_target(5_000, 0), MAX_NUDGES, 5_000, 11.0), Enough)


def test_a_decision_to_go_on_remembers_what_was_found():
    decision = decide(replace_target(700, 10_000), 1, 12_000, 11.0)
    assert isinstance(decision, KeepWorking)
    assert decision.target == replace_target(2_000, 12_000)
    assert "12,000" in decision.nudge
    assert "100,000" in decision.nudge
    assert "12 %" in decision.nudge


async def test_a_model_that_stops_early_is_sent_on_until_the_target_is_near():
    scene = Scene(saying(40_000, 40_000, 15_000), target_tokens=100_000)
    await scene.play()
    assert transitions(scene.terminal) == (NUDGED, NUDGED)
    assert [step.attempt for step in scene.terminal.transitions] == [1, 2]
    assert scene.terminal.reason == "completed"
    assert scene.terminal.turn_count == 1
    (done,) = completions(scene)
    assert done.data is not None
    assert (done.data["turn_tokens"], done.data["percent"]) == (95_000, 95)
    assert (done.data["continuation_count"], done.data["diminishing_returns"]) == (2, False)


async def test_the_nudge_is_for_the_model_alone():
    scene = Scene(saying(10, 95_000), target_tokens=100_000)
    await scene.play()
    (nudge,) = [m for m in scene.view if isinstance(m, UserMessage) and m.is_meta]
    assert scene.model.requests[1].messages[-1].content == nudge.content


async def test_a_model_that_has_nothing_more_to_say_is_left_in_peace():
    scene = Scene(saying(*[10] * 5), target_tokens=100_000)
    await scene.play()
    assert transitions(scene.terminal) == (NUDGED,) * 3
    (done,) = completions(scene)
    assert done.data is not None
    assert done.data["diminishing_returns"] is True


async def test_a_target_far_away_is_given_up_after_twenty_nudges():
    scene = Scene(saying(*[1_000] * 25), target_tokens=10**9)
    await scene.play()
    assert transitions(scene.terminal) == (NUDGED,) * 20
    assert scene.terminal.reason == "completed"


async def test_tokens_spent_on_tools_count():
    model = ScriptedModel(
        Reply(call("Look", "t1"), usage=Usage(100, 95_000)), Reply(say("done"), usage=Usage(100, 10))
    )
    scene = Scene(model, [fake_tool("Look")], target_tokens=100_000)
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn",)
    assert completions(scene) == []


@pytest.mark.parametrize(
    ("target", "source"),
    [
        (None, QuerySource("sdk")),
        (0, QuerySource("sdk")),
        (100_000, QuerySource("agent")),
        (100_000, QuerySource("compact")),
    ],
)
async def test_without_a_target_and_in_what_a_query_starts_for_itself_nothing_is_said_or_sent(
    target: int | None, source: QuerySource
):
    scene = Scene(saying(10), target_tokens=target, source=source)
    await scene.play()
    assert transitions(scene.terminal) == ()
    assert completions(scene) == []


async def test_hooks_are_asked_before_the_target_and_their_blocks_are_counted_on_after_a_nudge():
    asked: list[int] = []

    async def twice(stopping: Stopping, /) -> StopDecision | None:
        asked.append(stopping.blocks)
        return BlockStop("more") if len(asked) in {1, 3} else None

    scene = Scene(saying(10, 1_000, 1_000, 98_000), target_tokens=100_000, stop_hooks=[twice])
    await scene.play()
    assert transitions(scene.terminal) == ("stop_hook_blocking", NUDGED, "stop_hook_blocking")
    assert asked == [0, 1, 1, 2]


async def test_an_abort_leaves_no_nudge():
    scene = Scene(saying(10), target_tokens=100_000)

    async def aborts(stopping: Stopping, /) -> StopDecision | None:
        scene.abort.abort("user")

    scene.stop_hooks = [aborts]
    await scene.play()
    assert scene.terminal.reason == "aborted_streaming"
    assert transitions(scene.terminal) == ()


async def test_the_conversation_can_go_on_after_a_target_was_reached():
    first = Scene(saying(10, 95_000), target_tokens=100_000)
    await first.play()
    later = Scene(saying(5), before=first.view)
    later = replace(later, prompt="and now?")
    await later.play()  # the strict model refuses an illegal history
    assert later.terminal.reason == "completed"


async def test_a_hook_that_always_blocks_has_its_blocks_once_and_not_again_after_each_nudge():
    async def never(_stopping: Stopping, /) -> StopDecision | None:
        return BlockStop("more")

    scene = Scene(ScriptedModel.repeating(Reply(say("ok"), usage=Usage(10, 600))), target_tokens=10**6)
    scene.stop_hooks = [never]
    await scene.play()
    most = scene.config.max_stop_hook_blocks
    assert transitions(scene.terminal) == ("stop_hook_blocking",) * most + (NUDGED,) * MAX_NUDGES
    told = [e.message.subtype for e in scene.events if isinstance(e, SystemEvent)]
    assert told == ["stop_hook_cap", "token_budget_completed"]

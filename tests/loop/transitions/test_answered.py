"""After an answer: a whole new State for each way on, every field set on purpose."""

from collections.abc import Mapping

import pytest
from msgspec.structs import fields, replace
from msgspec.structs import replace as changed
from tests.loop.scene import Scene
from tests.loop.transitions.test_used_tools import busy_state

from ostinato.loop.transitions.answered import answered
from ostinato.loop.transitions.step import End, Next, Step
from ostinato.messages import Text, assistant_fragment
from ostinato.records import Continued
from ostinato.state import Answered, Bounds, State, TokenTarget
from ostinato.stop_hooks import BlockStop, StopDecision, Stopping
from ostinato.testing import ScriptedModel

SAID = assistant_fragment("a", "r", "m", Text("done"))
ANSWER = Answered(records=(SAID,), reply=SAID)
TARGET = TokenTarget(100_000)


async def blocks(stopping: Stopping, /) -> StopDecision | None:
    return BlockStop("more")


def before(bounds: Bounds) -> State:
    return replace(busy_state(), bounds=bounds, stop_hook_active=False)


async def step_of(state: State, *, hooked: bool) -> Step:
    scene = Scene(ScriptedModel(), stop_hooks=[blocks] if hooked else [])
    return await answered(state, ANSWER, scene.params(), scene.deps(), turn_tokens=2_000)


HELD = Bounds(nudges=4, stop_hook_blocks=2, pauses=1, empties=1, repairs=1, token_target=TARGET)
SAME = {
    "auto_compact_tracking": busy_state().auto_compact_tracking,
    "max_output_tokens_recovery_count": 0,
    "max_output_tokens_override": None,
    "pending_tool_use_summary": None,
    "turn_count": 7,
}
BLOCKED = {
    **SAME,
    "has_attempted_reactive_compact": True,
    "stop_hook_active": True,
    "transition": Continued("stop_hook_blocking", 7, attempt=3),
    "bounds": changed(HELD, stop_hook_blocks=3),
}
NUDGED = {
    **SAME,
    "has_attempted_reactive_compact": False,
    "stop_hook_active": False,
    "transition": Continued("token_budget_continuation", 7, attempt=5),
    "bounds": changed(HELD, nudges=5, token_target=TokenTarget(100_000, 0.0, 2_000, 2_000)),
}


@pytest.mark.parametrize(("hooked", "expected"), [(True, BLOCKED), (False, NUDGED)], ids=["block", "nudge"])
async def test_each_field_of_the_state_is_set(hooked: bool, expected: Mapping[str, object]):
    state = before(HELD)
    step = await step_of(state, hooked=hooked)
    assert isinstance(step, Next)
    assert {name: getattr(step.state, name) for name in expected} == expected
    assert step.state.tool_use_context is state.tool_use_context
    assert {field.name for field in fields(State)} == {*expected, "messages", "tool_use_context"}
    assert step.state.messages.view() == [*state.messages.view(), SAID, *step.added]


async def test_without_a_hook_and_a_target_the_query_is_done():
    step = await step_of(before(Bounds()), hooked=False)
    assert step == End("completed")


async def test_a_stop_hook_that_was_let_through_leaves_the_target_its_say():
    step = await step_of(before(changed(HELD, stop_hook_blocks=8)), hooked=True)
    assert isinstance(step, Next)
    assert step.transition.reason == "token_budget_continuation"

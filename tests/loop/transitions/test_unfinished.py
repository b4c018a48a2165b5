"""A reply that is no answer yet goes on, a bounded number of times."""

from collections.abc import Callable
from dataclasses import fields

import pytest
from tests.loop.scene import Scene
from tests.loop.transitions.test_used_tools import busy_state

from ostinato.loop.transitions.step import Next, Step
from ostinato.loop.transitions.unfinished import MAX_PAUSES, empty, paused
from ostinato.messages import UserMessage
from ostinato.records import Continued
from ostinato.state import Bounds, Empty, Paused, State
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say, think, transitions


@pytest.mark.parametrize("nothing", [Reply(), Reply(say("  ")), Reply(think("hm", signature="s"))])
async def test_an_empty_reply_is_asked_about_once(nothing: Reply):
    scene = Scene(ScriptedModel(nothing, Reply(say("here it is"))))
    await scene.play()
    assert transitions(scene.terminal) == ("empty_response_retry",)
    assert scene.terminal.reason == "completed"
    assert all(m.is_meta for m in scene.view if isinstance(m, UserMessage) and m.origin == "recovery")


async def test_a_second_empty_reply_is_the_end():
    scene = Scene(ScriptedModel(Reply(), Reply()))
    await scene.play()
    assert transitions(scene.terminal) == ("empty_response_retry",)
    assert scene.terminal.reason == "completed"


async def test_an_empty_reply_after_tools_is_asked_about_once_in_the_whole_query():
    model = ScriptedModel(Reply(), Reply(call("Look", "t1")), Reply())
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert transitions(scene.terminal) == ("empty_response_retry", "next_turn")


async def test_a_paused_reply_goes_on_and_a_provider_that_only_pauses_ends_the_query():
    scene = Scene(ScriptedModel.repeating(Reply(say("wait"), stop_reason="pause_turn")))
    await scene.play()
    assert transitions(scene.terminal) == ("pause_turn_resume",) * MAX_PAUSES
    assert len(scene.model.requests) == MAX_PAUSES + 1
    assert "wait" in str(scene.model.requests[1].messages)


def emptied(state: State) -> Step:
    return empty(state, Empty(), Scene(ScriptedModel()).deps())


def stopped_for_now(state: State) -> Step:
    return paused(state, Paused())


@pytest.mark.parametrize(
    ("step_of", "reason", "bounds"),
    [
        (emptied, "empty_response_retry", Bounds(nudges=4, empties=1)),
        (stopped_for_now, "pause_turn_resume", Bounds(nudges=4, pauses=1)),
    ],
)
def test_each_field_of_the_state_is_set(step_of: Callable[[State], Step], reason: str, bounds: Bounds):
    before = busy_state()
    step = step_of(before)
    assert isinstance(step, Next)
    expected = {
        "auto_compact_tracking": before.auto_compact_tracking,
        "max_output_tokens_recovery_count": 2,
        "has_attempted_reactive_compact": True,
        "max_output_tokens_override": 64_000,
        "pending_tool_use_summary": None,
        "stop_hook_active": True,
        "turn_count": 7,
        "transition": Continued(reason, 7),
        "bounds": bounds,
    }
    assert {name: getattr(step.state, name) for name in expected} == expected
    assert {field.name for field in fields(State)} == {*expected, "messages", "tool_use_context"}

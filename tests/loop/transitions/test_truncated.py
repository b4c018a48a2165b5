"""A cut reply is said again with room, then gone on with, three times at most; the caller sees no error unless all of it failed."""

from collections.abc import Sequence

import anyio.lowlevel
import pytest
from msgspec.structs import fields, replace
from tests.loop.scene import Scene
from tests.loop.transitions.test_used_tools import busy_state

from ostinato.context_pass import PassFacts
from ostinato.events import AssistantEvent, Tombstone
from ostinato.history import History
from ostinato.loop.transitions.step import End, Next
from ostinato.loop.transitions.truncated import truncated
from ostinato.messages import AssistantMessage, Text, Usage, UserMessage, assistant_fragment
from ostinato.records import AnyEdit, Continued
from ostinato.state import Bounds, State, Truncated
from ostinato.testing import (
    SCRIPTED_FACTS,
    Reply,
    ScriptedModel,
    call,
    fake_tool,
    kinds,
    say,
    think,
    transitions,
)
from ostinato.window_limits import auto_compact_tokens

SMALL = replace(SCRIPTED_FACTS, max_output_tokens=8_000)


def cut(text: str) -> Reply:
    return Reply(say(text), stop_reason="max_tokens")


def limits(model: ScriptedModel) -> list[int]:
    return [request.max_output_tokens for request in model.requests]


def errors(scene: Scene) -> list[str]:
    return [e.message.text for e in scene.events if isinstance(e, AssistantEvent) and e.message.is_error]


async def test_the_first_cut_is_said_again_with_the_higher_limit_and_nothing_else_changes():
    scene = Scene(ScriptedModel(cut("half a"), Reply(say("half a story, and its end"))))
    events = await scene.play()
    assert limits(scene.model) == [32_000, 64_000]
    assert transitions(scene.terminal) == ("max_output_tokens_escalate",)
    first, second = scene.model.requests
    assert list(second.messages) == list(first.messages)
    shown = [e.message.uuid for e in events if isinstance(e, AssistantEvent)]
    assert [e.uuid for e in events if isinstance(e, Tombstone)] == shown[:1]
    assert [m.text for m in scene.view if isinstance(m, AssistantMessage)] == ["half a story, and its end"]
    assert errors(scene) == []


async def test_the_tombstone_comes_before_the_reply_is_said_again():
    scene = Scene(ScriptedModel(cut("half a"), Reply(say("whole"))))
    order = [kind for kind in kinds(await scene.play()) if kind in {"assistant", "tombstone", "transition"}]
    assert order == ["assistant", "tombstone", "transition", "assistant"]


async def test_later_cuts_keep_the_part_and_go_on_at_the_higher_limit_three_times_then_the_error_comes_once():
    scene = Scene(ScriptedModel(*(cut(f"part {n}") for n in range(5))))
    await scene.play()
    assert transitions(scene.terminal) == ("max_output_tokens_escalate", *["max_output_tokens_recovery"] * 3)
    assert [step.attempt for step in scene.terminal.transitions] == [None, 1, 2, 3]
    assert limits(scene.model) == [32_000, 64_000, 64_000, 64_000, 64_000]
    said = str(scene.model.requests[-1].messages)
    assert all(f"part {n}" in said for n in range(1, 4))
    assert len(errors(scene)) == 1
    assert scene.terminal.reason == "completed"


async def test_a_recovery_that_works_shows_no_error():
    scene = Scene(ScriptedModel(cut("a"), cut("b"), Reply(say("c"))))
    await scene.play()
    assert transitions(scene.terminal) == ("max_output_tokens_escalate", "max_output_tokens_recovery")
    assert errors(scene) == []


async def test_the_user_does_not_see_the_wish_to_go_on():
    scene = Scene(ScriptedModel(cut("a"), cut("b"), Reply(say("c"))))
    await scene.play()
    (wish,) = [m for m in scene.view if isinstance(m, UserMessage) and m.origin == "recovery"]
    assert wish.is_meta


@pytest.mark.parametrize("scene_limit", [1_000, 32_000])
async def test_a_limit_that_the_caller_has_set_is_never_raised_and_holds_in_every_pass(scene_limit: int):
    model = ScriptedModel(Reply(call("Look", "t1")), cut("a"), Reply(say("b")))
    scene = Scene(model, [fake_tool("Look")], max_output_tokens=scene_limit)
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn", "max_output_tokens_recovery")
    assert limits(model) == [scene_limit] * 3


async def test_a_model_that_can_say_no_more_is_not_asked_for_more():
    scene = Scene(ScriptedModel(cut("a"), Reply(say("b")), facts=SMALL))
    await scene.play()
    assert transitions(scene.terminal) == ("max_output_tokens_recovery",)
    assert limits(scene.model) == [8_000, 8_000]


async def test_a_round_of_tools_starts_the_count_again():
    model = ScriptedModel(
        cut("a"),
        cut("b"),
        cut("c"),
        Reply(call("Look", "t1")),
        cut("d"),
        cut("e"),
        cut("f"),
        cut("g"),
        Reply(say("h")),
    )
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert [step.attempt for step in scene.terminal.transitions] == [None, 1, 2, None, None, 1, 2, 3]
    assert errors(scene) == []


async def test_a_call_in_a_cut_reply_runs_and_the_cut_is_not_repaired_besides():
    model = ScriptedModel(Reply(call("Look", "t1"), stop_reason="max_tokens"), Reply(say("done")))
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn",)


async def test_a_reply_that_was_all_thought_when_it_was_cut_can_be_gone_on_with():
    model = ScriptedModel(
        Reply(think("hm", signature="s"), stop_reason="max_tokens"), Reply(say("b")), facts=SMALL
    )
    scene = Scene(model)
    await scene.play()  # the strict model refuses an illegal request
    assert scene.terminal.reason == "completed"
    assert len(model.requests) == 2


async def test_thought_alone_at_the_limit_time_after_time_is_no_answer_and_says_so():
    scene = Scene(ScriptedModel.repeating(Reply(think("hm", signature="s"), stop_reason="max_tokens")))
    await scene.play()
    assert transitions(scene.terminal) == ("max_output_tokens_escalate", *["max_output_tokens_recovery"] * 3)
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("model_error", "empty_response")
    assert len(errors(scene)) == 1


async def test_a_reply_that_used_nothing_was_cut_by_no_limit_and_is_asked_about_as_an_empty_one():
    nothing = Reply(stop_reason="max_tokens", usage=Usage(100, 0))
    scene = Scene(ScriptedModel(nothing, Reply(say("here"))))
    await scene.play()
    assert transitions(scene.terminal) == ("empty_response_retry",)
    assert limits(scene.model) == [32_000, 32_000]


async def test_a_reply_that_the_window_has_cut_is_not_said_again_and_the_context_is_prepared_before_it_goes_on():
    full = SCRIPTED_FACTS.context_window - 3_000
    cut_by_window = Reply(say("half"), stop_reason="model_context_window_exceeded", usage=Usage(full, 2_000))
    used: list[int] = []

    async def prepare(_messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        used.append(facts.used_tokens)
        await anyio.lowlevel.checkpoint()
        return ()

    scene = Scene(ScriptedModel(cut_by_window, Reply(say("whole"))), prepare_context=prepare)
    await scene.play()
    assert transitions(scene.terminal) == ("max_output_tokens_recovery",)
    (before_the_resume,) = used
    assert before_the_resume >= auto_compact_tokens(SCRIPTED_FACTS)


async def test_what_was_taken_back_is_gone_from_the_journal_too():
    scene = Scene(ScriptedModel(cut("half a"), cut("b"), Reply(say("c"))))
    await scene.play()
    folded = scene.written
    assert folded.view() == scene.view
    assert "half a" not in str(folded.view())


# ------------------------------------------------------------------ the State

PART = assistant_fragment("a", "r", "m", Text("half a"))
CUT = Truncated(records=(PART,), max_output_tokens=32_000)


def step_of(state: State) -> Next:
    step = truncated(state, CUT, Scene(ScriptedModel()).deps(), may_escalate=True, max_searches=0)
    assert isinstance(step, Next)
    return step


ESCALATED = {
    "auto_compact_tracking": busy_state().auto_compact_tracking,
    "max_output_tokens_recovery_count": 2,
    "has_attempted_reactive_compact": True,
    "max_output_tokens_override": 64_000,
    "pending_tool_use_summary": None,
    "stop_hook_active": True,
    "turn_count": 7,
    "transition": Continued("max_output_tokens_escalate", 7),
    "bounds": Bounds(nudges=4),
}
RESUMED = {
    **ESCALATED,
    "max_output_tokens_recovery_count": 3,
    "transition": Continued("max_output_tokens_recovery", 7, attempt=3),
}


@pytest.mark.parametrize(
    ("override", "expected"), [(None, ESCALATED), (64_000, RESUMED)], ids=["escalate", "recovery"]
)
def test_each_field_of_the_state_is_set(override: int | None, expected: dict[str, object]):
    before = replace(busy_state(), max_output_tokens_override=override)
    after = step_of(before).state
    assert {name: getattr(after, name) for name in expected} == expected
    assert after.tool_use_context is before.tool_use_context
    assert {field.name for field in fields(State)} == {*expected, "messages", "tool_use_context"}


def test_the_history_is_the_same_view_again_or_the_part_and_the_wish():
    before = replace(busy_state(), max_output_tokens_override=None)
    assert step_of(before).state.messages.view() == before.messages.view()
    resumed = step_of(replace(before, max_output_tokens_override=64_000))
    assert resumed.state.messages.view()[-2:] == [PART, *resumed.added]


def test_after_three_recoveries_the_error_is_released():
    spent = replace(busy_state(), max_output_tokens_override=64_000, max_output_tokens_recovery_count=3)
    step = truncated(spent, CUT, Scene(ScriptedModel()).deps(), may_escalate=True, max_searches=0)
    assert isinstance(step, End)
    assert step.reason == "completed"
    assert len(step.added) == 1

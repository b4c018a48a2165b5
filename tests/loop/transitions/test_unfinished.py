"""A reply that is no answer yet goes on, a bounded number of times; what stays empty is an error, except right after tools."""

from collections.abc import Awaitable, Callable, Sequence

import pytest
from msgspec.structs import fields
from tests.loop.scene import Scene
from tests.loop.transitions.test_used_tools import busy_state

from ostinato.events import AssistantEvent, SystemEvent
from ostinato.loop.transitions.step import Next, Step
from ostinato.loop.transitions.unfinished import MAX_EMPTY_REPLIES, MAX_PAUSES, empty, paused
from ostinato.messages import Text, UserMessage, assistant_fragment
from ostinato.ports import ModelRequest
from ostinato.records import Continued
from ostinato.state import Bounds, Empty, Paused, State
from ostinato.stop_hooks import BlockStop, StopDecision, Stopping
from ostinato.submissions import QueuedPrompt
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say, think, transitions

EMPTIES = [Reply(), Reply(say("  ")), Reply(think("hm", signature="s"))]
RETRY = "empty_response_retry"
RESUME = "pause_turn_resume"
PART = assistant_fragment("a", "r", "m", Text("so far"))


def pausing(text: str) -> Reply:
    return Reply(say(text), stop_reason="pause_turn")


# ------------------------------------------------------------------------------------------------ empty


@pytest.mark.parametrize("nothing", EMPTIES, ids=["nothing", "blank", "thought only"])
async def test_an_empty_reply_is_asked_about_twice(nothing: Reply):
    scene = Scene(ScriptedModel(nothing, nothing, Reply(say("here it is"))))
    await scene.play()
    assert transitions(scene.terminal) == (RETRY, RETRY)
    assert [step.attempt for step in scene.terminal.transitions] == [1, 2]
    assert scene.terminal.reason == "completed"
    asked = [m for m in scene.view if isinstance(m, UserMessage) and m.origin == "recovery"]
    assert len(asked) == 2
    assert all(message.is_meta for message in asked)


@pytest.mark.parametrize("nothing", EMPTIES, ids=["nothing", "blank", "thought only"])
async def test_a_third_empty_reply_ends_the_query_as_failed_and_the_user_is_told_once(nothing: Reply):
    scene = Scene(ScriptedModel.repeating(nothing))
    await scene.play()
    assert transitions(scene.terminal) == (RETRY,) * MAX_EMPTY_REPLIES
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("model_error", "empty_response")
    assert scene.terminal.hint
    told = [e.message for e in scene.events if isinstance(e, AssistantEvent) and e.message.is_error]
    assert len(told) == 1


@pytest.mark.parametrize("nothing", EMPTIES, ids=["nothing", "blank", "thought only"])
async def test_an_empty_end_of_turn_right_after_tools_is_a_success(nothing: Reply):
    scene = Scene(ScriptedModel(Reply(call("Look", "t1")), nothing), [fake_tool("Look")])
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn",)
    assert scene.terminal.reason == "completed"


@pytest.mark.parametrize("stop_reason", ["", "stop_sequence", "tool_use", "weird"])
async def test_an_empty_reply_after_tools_that_does_not_end_the_turn_is_asked_about(stop_reason: str):
    model = ScriptedModel(Reply(call("Look", "t1")), Reply(stop_reason=stop_reason), Reply(say("done")))
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn", RETRY)


async def test_a_round_of_tools_starts_the_count_of_empty_replies_again():
    model = ScriptedModel(
        Reply(),
        Reply(),
        Reply(call("Look", "t1")),
        Reply(stop_reason=""),
        Reply(stop_reason=""),
        Reply(say("x")),
    )
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert transitions(scene.terminal) == (RETRY, RETRY, "next_turn", RETRY, RETRY)
    assert scene.terminal.reason == "completed"


async def test_a_silent_end_after_tools_is_asked_of_the_stop_hooks_like_any_other():
    heard: list[str] = []

    async def hook(stopping: Stopping, /) -> StopDecision | None:
        heard.append(stopping.answer)
        return None if stopping.blocks else BlockStop("say what you did")

    model = ScriptedModel(Reply(call("Look", "t1")), Reply(), Reply(say("I looked")))
    scene = Scene(model, [fake_tool("Look")], stop_hooks=[hook])
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn", "stop_hook_blocking")
    assert heard == ["", "I looked"]


@pytest.mark.parametrize("nothing", EMPTIES, ids=["nothing", "blank", "thought only"])
async def test_a_model_that_was_sent_on_after_its_answer_may_have_nothing_to_add(nothing: Reply):
    async def once(stopping: Stopping, /) -> StopDecision | None:
        return None if stopping.blocks else BlockStop("is that all?")

    hooked = Scene(ScriptedModel(Reply(say("done")), nothing), stop_hooks=[once])
    nudged = Scene(ScriptedModel(Reply(say("done")), *[nothing] * 3), target_tokens=10**6)
    cut = Scene(ScriptedModel(*[Reply(say("all"), stop_reason="max_tokens")] * 2, nothing))
    resumed = Scene(ScriptedModel(pausing("all"), nothing))
    for scene in (hooked, nudged, cut, resumed):
        await scene.play()
        assert RETRY not in transitions(scene.terminal)
        assert scene.terminal.reason == "completed"


async def test_a_pause_with_nothing_before_it_is_not_an_answer():
    scene = Scene(ScriptedModel(Reply(stop_reason="pause_turn"), Reply(), Reply(say("now"))))
    await scene.play()
    assert transitions(scene.terminal) == (RESUME, RETRY)


class Waiting:
    """Implements `PromptSource` with one prompt."""

    def __init__(self, prompt: QueuedPrompt) -> None:
        self._prompts: Sequence[QueuedPrompt] = (prompt,)

    def drain(self) -> Sequence[QueuedPrompt]:
        taken, self._prompts = self._prompts, ()
        return taken

    def give_back(self, prompts: Sequence[QueuedPrompt]) -> None:
        self._prompts = prompts


async def test_what_the_user_sent_while_tools_ran_wants_an_answer():
    model = ScriptedModel(Reply(call("Look", "t1")), Reply(), Reply(say("noon")))
    queue = Waiting(QueuedPrompt("q1", "and the time?"))
    scene = Scene(model, [fake_tool("Look")], queue=queue)
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn", RETRY)


async def test_thinking_without_an_answer_stays_in_the_history_and_is_not_sent_alone():
    scene = Scene(ScriptedModel(Reply(think("hm", signature="s")), Reply(say("here it is"))))
    await scene.play()  # the strict model refuses an illegal request
    assert "hm" in str(scene.view)
    assert "hm" not in str(scene.model.requests[1].messages)


async def test_the_request_after_an_empty_reply_extends_the_one_before():
    scene = Scene(ScriptedModel(Reply(), Reply(say("here it is"))))
    await scene.play()
    first, second = (request.messages for request in scene.model.requests)
    assert second[0].content[: len(first[0].content)] == first[0].content


# ------------------------------------------------------------------------------------------------ paused


async def test_a_paused_reply_is_sent_back_last_and_unchanged():
    scene = Scene(ScriptedModel(pausing("so far "), Reply(say("and on"))))
    await scene.play()
    assert transitions(scene.terminal) == (RESUME,)
    first, second = scene.model.requests
    assert (first.continues_reply, second.continues_reply) == (False, True)
    assert list(second.messages[:-1]) == list(first.messages)
    assert second.messages[-1].role == "assistant"
    assert second.messages[-1].content == (Text("so far "),)


async def test_what_follows_a_pause_is_one_message_with_it_for_the_model():
    first = Scene(ScriptedModel(pausing("so far"), pausing("and on"), Reply(say("to the end"))))
    await first.play()
    later = Scene(ScriptedModel(Reply(say("yes"))), before=first.view, prompt="done?")
    await later.play()
    roles = [message.role for message in later.model.requests[0].messages]
    assert roles == ["user", "assistant", "user"]
    assert later.model.requests[0].messages[1].content == (Text("so far"), Text("and on"), Text("to the end"))


async def test_a_pause_before_anything_was_said_asks_again():
    scene = Scene(ScriptedModel(Reply(stop_reason="pause_turn"), Reply(say("now"))))
    await scene.play()  # the strict model refuses an illegal request
    assert transitions(scene.terminal) == (RESUME,)


async def test_a_provider_that_only_pauses_is_taken_at_its_last_word_after_ten():
    heard: list[str] = []

    async def hook(stopping: Stopping, /) -> StopDecision | None:
        heard.append(stopping.answer)

    scene = Scene(ScriptedModel.repeating(pausing("wait")), stop_hooks=[hook])
    await scene.play()
    assert transitions(scene.terminal) == (RESUME,) * MAX_PAUSES
    assert len(scene.model.requests) == MAX_PAUSES + 1
    assert scene.terminal.reason == "completed"
    assert heard == ["wait"]
    told = [e.message.subtype for e in scene.events if isinstance(e, SystemEvent)]
    assert told == ["pause_cap"]


@pytest.mark.parametrize("nothing", EMPTIES, ids=["nothing", "blank", "thought only"])
async def test_pauses_that_hold_nothing_to_go_on_in_are_bounded_like_empty_replies_and_end_as_failed(
    nothing: Reply,
):
    scene = Scene(ScriptedModel.repeating(Reply(*nothing.parts, stop_reason="pause_turn")))
    await scene.play()
    assert transitions(scene.terminal) == (RESUME,) * MAX_EMPTY_REPLIES
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("model_error", "empty_response")
    assert len([e for e in scene.events if isinstance(e, AssistantEvent) and e.message.is_error]) == 1


async def test_pauses_without_a_word_after_something_was_said_leave_that_as_the_answer_and_tell():
    thought = Reply(think("hm", signature="s"), stop_reason="pause_turn")
    scene = Scene(ScriptedModel(pausing("so far"), *[thought] * 5))
    await scene.play()
    assert transitions(scene.terminal) == (RESUME,) * (MAX_EMPTY_REPLIES + 1)
    assert scene.terminal.reason == "completed"
    assert [e.message.subtype for e in scene.events if isinstance(e, SystemEvent)] == ["pause_cap"]


@pytest.mark.parametrize("first", ["tools", "the prompt"])
@pytest.mark.parametrize("stop_reason", ["max_tokens", "pause_turn", "model_context_window_exceeded"])
@pytest.mark.parametrize("nothing", EMPTIES, ids=["nothing", "blank", "thought only"])
async def test_no_query_without_a_word_is_a_success_unless_its_model_ended_the_turn(
    nothing: Reply, stop_reason: str, first: str
):
    def script(_request: ModelRequest, number: int) -> Reply:
        looks = first == "tools" and number == 1
        return Reply(call("Look", "t1")) if looks else Reply(*nothing.parts, stop_reason=stop_reason)

    scene = Scene(ScriptedModel(script=script), [fake_tool("Look")])
    await scene.play()
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("model_error", "empty_response")
    assert scene.terminal.hint
    assert len([e for e in scene.events if isinstance(e, AssistantEvent) and e.message.is_error]) == 1


async def test_a_round_of_tools_starts_the_count_of_pauses_again():
    many = [pausing("wait")] * 6
    model = ScriptedModel(*many, Reply(call("Look", "t1")), *many, Reply(say("done")))
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert transitions(scene.terminal).count(RESUME) == 12


async def test_calls_of_a_paused_reply_run():
    model = ScriptedModel(Reply(call("Look", "t1"), stop_reason="pause_turn"), Reply(say("done")))
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn",)


# ------------------------------------------------------------------------------------------------ the State


async def emptied(state: State) -> Step:
    scene = Scene(ScriptedModel())
    return await empty(state, Empty(), scene.params(), scene.deps(), turn_tokens=0)


async def stopped_for_now(state: State) -> Step:
    scene = Scene(ScriptedModel())
    return await paused(state, Paused(reply=PART), scene.params(), scene.deps(), turn_tokens=0)


@pytest.mark.parametrize(
    ("step_of", "reason", "bounds"),
    [
        (emptied, RETRY, Bounds(nudges=4, empties=1)),
        (stopped_for_now, RESUME, Bounds(nudges=4, pauses=1)),
    ],
)
async def test_each_field_of_the_state_is_set(
    step_of: Callable[[State], Awaitable[Step]], reason: str, bounds: Bounds
):
    before = busy_state()
    step = await step_of(before)
    assert isinstance(step, Next)
    expected = {
        "auto_compact_tracking": before.auto_compact_tracking,
        "max_output_tokens_recovery_count": 2,
        "has_attempted_reactive_compact": True,
        "max_output_tokens_override": 64_000,
        "pending_tool_use_summary": None,
        "stop_hook_active": True,
        "turn_count": 7,
        "transition": Continued(reason, 7, attempt=1),
        "bounds": bounds,
    }
    assert {name: getattr(step.state, name) for name in expected} == expected
    assert {field.name for field in fields(State)} == {*expected, "messages", "tool_use_context"}

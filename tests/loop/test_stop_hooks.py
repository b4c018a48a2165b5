"""Stop hooks may send the model back or end the query; none can trap it, break it, or be asked about a failure."""

from collections.abc import Sequence
from typing import cast

import anyio
import pytest
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.errors import ModelError
from ostinato.events import AssistantEvent
from ostinato.history import History
from ostinato.messages import AssistantMessage, SystemMessage, Text, UserMessage, user_prompt
from ostinato.records import AnyEdit, Snip
from ostinato.stop_hooks import (
    AllowStop,
    BlockStop,
    PreventStop,
    StopDecision,
    StopFailed,
    StopHook,
    Stopping,
)
from ostinato.testing import (
    Fails,
    FakeClock,
    Reply,
    ScriptedModel,
    call,
    fake_tool,
    say,
    transitions,
)

HOOK = "stop_hook_blocking"


class Hook:
    """A stop hook that answers from a list, then allows; `asked` is what it was told."""

    __name__ = "hook"

    def __init__(self, *answers: object) -> None:
        self.asked: list[Stopping] = []
        self._answers = list(answers)

    async def __call__(self, stopping: Stopping, /) -> StopDecision | None:
        self.asked.append(stopping)
        answer = self._answers.pop(0) if self._answers else None
        if isinstance(answer, BaseException):
            raise answer
        return cast("StopDecision | None", answer)  # some answers are such as no hook may give


def answering(text: str = "done") -> ScriptedModel:
    return ScriptedModel.repeating(Reply(say(text)))


def notices(scene: Scene, subtype: str) -> list[str]:
    return [m.text for m in scene.view if isinstance(m, SystemMessage) and m.subtype == subtype]


async def never(stopping: Stopping, /) -> StopDecision | None:
    await anyio.sleep_forever()


async def always_blocks(stopping: Stopping, /) -> StopDecision | None:
    return BlockStop("the tests still fail")


async def test_a_hook_that_allows_lets_the_query_end_and_is_asked_once():
    hook = Hook(AllowStop())
    scene = Scene(answering(), stop_hooks=[hook])
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert transitions(scene.terminal) == ()
    (asked,) = hook.asked
    assert (asked.answer, asked.stop_hook_active, asked.blocks, asked.max_blocks) == ("done", False, 0, 8)
    assert [type(message) for message in asked.messages] == [UserMessage, AssistantMessage]


async def test_a_block_sends_the_model_back_with_words_that_the_user_does_not_see():
    hook = Hook(BlockStop("run the tests first"))
    scene = Scene(ScriptedModel(Reply(say("done")), Reply(say("they pass"))), stop_hooks=[hook])
    await scene.play()
    assert transitions(scene.terminal) == (HOOK,)
    assert scene.model.requests[1].messages[-1].content == (Text("run the tests first"),)
    (told,) = [m for m in scene.view if isinstance(m, UserMessage) and m.origin == "hook"]
    assert told.is_meta
    assert [(one.stop_hook_active, one.blocks) for one in hook.asked] == [(False, 0), (True, 1)]
    assert scene.terminal.turn_count == 1


async def test_a_hook_that_always_blocks_is_let_through_after_eight_in_a_row_and_the_user_is_told():
    scene = Scene(answering(), stop_hooks=[always_blocks])
    await scene.play()
    assert transitions(scene.terminal) == (HOOK,) * 8
    assert [step.attempt for step in scene.terminal.transitions] == list(range(1, 9))
    assert len(scene.model.requests) == 9
    assert scene.terminal.reason == "completed"
    assert len(notices(scene, "stop_hook_cap")) == 1


async def test_tools_between_blocks_do_not_start_the_count_again():
    model = ScriptedModel(
        script=lambda _request, number: Reply(call("Look", f"t{number}") if number % 2 else say("done"))
    )
    unguarded = replace(STRICT, loop_guard="off")
    scene = Scene(model, [fake_tool("Look")], stop_hooks=[always_blocks], config=unguarded)
    await scene.play()
    assert transitions(scene.terminal).count(HOOK) == 8
    assert scene.terminal.reason == "completed"


async def test_the_cap_can_be_set():
    scene = Scene(answering(), stop_hooks=[always_blocks], config=replace(STRICT, max_stop_hook_blocks=2))
    await scene.play()
    assert transitions(scene.terminal) == (HOOK,) * 2


async def test_a_hook_can_end_the_query_and_says_why():
    scene = Scene(answering(), stop_hooks=[Hook(PreventStop("outside working hours"))])
    await scene.play()
    assert scene.terminal.reason == "stop_hook_prevented"
    assert "outside working hours" in notices(scene, "stop_hook_prevented")[0]
    assert scene.terminal.error == ""


async def test_one_hook_that_prevents_wins_over_one_that_blocks():
    scene = Scene(answering(), stop_hooks=[always_blocks, Hook(PreventStop())])
    await scene.play()
    assert scene.terminal.reason == "stop_hook_prevented"
    assert len(scene.model.requests) == 1


async def test_what_several_hooks_miss_is_said_in_their_order():
    hooks = [Hook(BlockStop("first")), Hook(BlockStop("second"))]
    scene = Scene(answering(), stop_hooks=hooks)
    await scene.play()
    assert scene.model.requests[1].messages[-1].content == (Text("first"), Text("second"))


async def test_hooks_are_asked_at_the_same_time():
    met = [anyio.Event(), anyio.Event()]

    def meeting(mine: int, other: int) -> StopHook:
        async def hook(stopping: Stopping, /) -> StopDecision | None:
            met[mine].set()
            await met[other].wait()

        return hook

    scene = Scene(answering(), stop_hooks=[meeting(0, 1), meeting(1, 0)])
    with anyio.fail_after(5):
        await scene.play()
    assert scene.terminal.reason == "completed"


@pytest.mark.parametrize(
    "answer",
    [ValueError("broken"), SystemExit(2), BlockStop("  "), "block", {"decision": "block"}, 2],
    ids=["raises", "exits", "block without a reason", "text", "object", "number"],
)
async def test_a_hook_that_gives_no_usable_answer_is_named_and_blocks_nothing(answer: object):
    scene = Scene(answering(), stop_hooks=[Hook(answer)])
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert len(scene.model.requests) == 1
    (said,) = notices(scene, "stop_hook_error")
    assert "`hook`" in said


async def test_a_broken_hook_does_not_keep_the_others_from_being_heard():
    scene = Scene(answering(), stop_hooks=[Hook(ValueError()), Hook(BlockStop("more"))])
    await scene.play()
    assert transitions(scene.terminal) == (HOOK,)


async def test_a_hook_that_hangs_is_left_after_its_time_and_named():
    clock = FakeClock()
    scene = Scene(answering(), stop_hooks=[never], clock=clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await clock.until_sleeping()
        clock.advance(600)
    assert scene.terminal.reason == "completed"
    assert "`never`" in notices(scene, "stop_hook_error")[0]


async def test_an_abort_ends_the_wait_for_a_hook_and_nothing_goes_on():
    scene = Scene(answering(), stop_hooks=[never])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await scene.clock.until_sleeping()
        scene.abort.abort("user")
    assert scene.terminal.reason == "aborted_streaming"
    assert transitions(scene.terminal) == ()
    assert scene.clock.sleepers == 0


async def test_a_hook_that_aborts_the_query_itself_ends_it():
    async def aborts(stopping: Stopping, /) -> StopDecision | None:
        scene.abort.abort("user")
        return BlockStop("go on")

    scene = Scene(answering(), stop_hooks=[aborts])
    await scene.play()
    assert scene.terminal.reason == "aborted_streaming"
    assert len(scene.model.requests) == 1


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (Fails(ModelError("overloaded", kind="overloaded")), "model_error"),
        (Fails(ModelError("too long", kind="prompt_too_long", recover="compact")), "prompt_too_long"),
        (Reply(say("I will"), stop_reason="refusal"), "refused"),
    ],
    ids=["error", "too long", "refused"],
)
async def test_a_query_that_failed_asks_no_stop_hook_and_tells_the_failure_hooks(
    turn: Fails | Reply, reason: str
):
    hook = Hook()
    told: list[StopFailed] = []

    async def tell(failed: StopFailed) -> None:
        told.append(failed)
        raise ValueError("ignored")

    scene = Scene(ScriptedModel(turn), stop_hooks=[hook], stop_failure_hooks=[tell])
    await scene.play()
    assert scene.terminal.reason == reason
    assert hook.asked == []
    (failed,) = told
    assert failed.reason == reason
    assert failed.message


async def test_a_query_that_was_aborted_asks_and_tells_no_hook():
    hook, told = Hook(), list[StopFailed]()

    async def tell(failed: StopFailed) -> None:
        told.append(failed)

    scene = Scene(answering(), stop_hooks=[hook], stop_failure_hooks=[tell])
    scene.abort.abort("user")
    await scene.play()
    assert scene.terminal.reason == "aborted_streaming"
    assert (hook.asked, told) == ([], [])


async def test_failure_hooks_that_hang_are_left_after_five_seconds():
    async def hangs(failed: StopFailed) -> None:
        await anyio.sleep_forever()

    scene = Scene(ScriptedModel(Fails(ModelError("no", kind="server"))), stop_failure_hooks=[hangs])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await scene.clock.until_sleeping()
        assert any(isinstance(event, AssistantEvent) for event in scene.events)  # the error is shown by then
        scene.clock.advance(5)
    assert scene.terminal.reason == "model_error"


async def test_a_block_does_not_give_back_a_recovery_that_was_used_up():
    """Compact, too long again, hook blocks, compact …: the loop that burned money in another engine (semantics §4.2)."""
    too_long = Fails(ModelError("too long", kind="prompt_too_long", recover="compact"))
    model = ScriptedModel(too_long, Reply(say("done")), too_long)
    shortened: list[History] = []

    async def shorten(messages: History, error: object, model: object) -> Sequence[AnyEdit]:
        shortened.append(messages)
        return (Snip(f"e{len(shortened)}", "old", "old", user_prompt("m", "(earlier)")),)

    scene = Scene(
        model,
        stop_hooks=[always_blocks],
        before=[user_prompt("old", "earlier"), user_prompt("old2", "and")],
        shorten=shorten,
    )
    await scene.play()
    assert transitions(scene.terminal) == ("reactive_compact_retry", HOOK)
    assert scene.terminal.reason == "prompt_too_long"
    assert len(shortened) == 1

"""Replies that break off after they have changed something are failures in a row like any others, although each is kept: they
are counted on from pass to pass, another model takes over, and nobody waits for a call that will not be made.
"""

from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace
from tests.loop.failing import OVERLOADED, notices, patient_scene
from tests.loop.scene import Scene

from ostinato.engine.budget import TreeBudget
from ostinato.errors import ModelError
from ostinato.events import AssistantEvent, Tombstone
from ostinato.loop.budget import BudgetLimits
from ostinato.messages import ToolResult, Usage, UserMessage
from ostinato.testing import (
    SCRIPTED_FACTS,
    SCRIPTED_USAGE,
    Cut,
    Fails,
    Gate,
    Reply,
    ScriptedModel,
    Turn,
    call,
    fake_tool,
    say,
)

SECOND = replace(SCRIPTED_FACTS, id="second")


class Broken(msgspec.Struct):
    """Replies that break off once their calls have begun: each waits for its own call."""

    begun: list[Gate] = msgspec.field(default_factory=list[Gate])
    calls: int = 0

    def reply(self, error: ModelError | None = None, usage: Usage = SCRIPTED_USAGE) -> Turn:
        gate = Gate()
        self.begun.append(gate)
        reply = Reply(call("Write", f"t{len(self.begun)}"), gate, say("x"), usage=usage)
        return Cut(reply, after_blocks=1, error=error)

    async def begins(self, _input: object, _context: object) -> None:
        self.begun[self.calls].open()
        self.calls += 1

    def scene(self, *turns: Turn, others: Sequence[ScriptedModel] = ()) -> Scene:
        made = patient_scene(*turns, others=others)
        return replace(made, tools=[fake_tool("Write", self.begins, log=made.log)])


def breaking(*errors: ModelError | None, then: Sequence[Turn] = (Reply(say("done")),)) -> Scene:
    replies = Broken()
    return replies.scene(*[replies.reply(error) for error in errors], *then)


def attempts(scene: Scene) -> list[int]:
    return [int(str((one.data or {})["attempt"])) for one in notices(scene.events, "api_retry")]


def results(scene: Scene) -> list[ToolResult]:
    return [
        block
        for m in scene.view
        if isinstance(m, UserMessage)
        for block in m.content
        if isinstance(block, ToolResult)
    ]


async def test_the_third_overload_in_a_row_hands_over_although_each_reply_had_an_effect():
    scene = breaking(*[OVERLOADED] * 3, then=())
    other = ScriptedModel(Reply(say("done")), facts=SECOND)
    scene.others = [other]
    await scene.play()
    assert (len(scene.model.requests), len(other.requests)) == (3, 1)
    assert len(results(scene)) == 3
    assert scene.terminal.reason == "completed"
    assert len(notices(scene.events, "model_fallback")) == 1


async def test_an_overload_without_effect_counts_in_the_same_row():
    scene = breaking(OVERLOADED, then=[Fails(OVERLOADED), Fails(OVERLOADED)])
    other = ScriptedModel(Reply(say("done")), facts=SECOND)
    scene.others = [other]
    await scene.play()
    assert (len(scene.model.requests), len(other.requests)) == (3, 1)


async def test_a_whole_reply_starts_the_row_again():
    replies = Broken()
    row = [replies.reply(OVERLOADED) for _ in range(4)]
    replies.begun.insert(2, Gate())  # of the call of the whole reply, which nothing waits for
    other = ScriptedModel(facts=SECOND)
    scene = replies.scene(
        *row[:2], Reply(call("Write", "whole")), *row[2:], Reply(say("done")), others=[other]
    )
    await scene.play()
    assert attempts(scene) == [1, 2, 1, 2]
    assert scene.terminal.reason == "completed"


async def test_the_model_that_takes_over_starts_with_a_clean_sheet():
    replies = Broken()
    row = [replies.reply(OVERLOADED) for _ in range(5)]
    scene = replies.scene(*row[:3], others=[ScriptedModel(*row[3:], Reply(say("done")), facts=SECOND)])
    await scene.play()
    assert attempts(scene) == [1, 2, 1, 2]
    assert scene.terminal.reason == "completed"


async def test_each_wait_is_told_as_the_next_attempt_and_is_longer():
    scene = breaking(*[OVERLOADED] * 4)
    await scene.play()
    assert attempts(scene) == [1, 2, 3, 4]
    waits = [int(str((one.data or {})["retry_delay_ms"])) for one in notices(scene.events, "api_retry")]
    assert waits == [500, 1_000, 2_000, 4_000]


async def test_after_three_that_broke_off_the_next_reply_is_asked_for_in_one_piece():
    scene = breaking(None, None, None)
    await scene.play()
    assert [request.wants_stream for request in scene.model.requests] == [True, True, True, False]


# ------------------------------------------------------------------------------------------------ no call, no wait


async def test_where_the_turns_are_used_up_nobody_waits_and_no_other_model_is_named():
    scene = breaking(OVERLOADED, then=())
    scene.max_turns = 1
    await scene.play()
    assert scene.terminal.reason == "max_turns"
    assert attempts(scene) == []
    scene = breaking(*[OVERLOADED] * 3, then=())
    scene.max_turns, scene.others = 3, [ScriptedModel(facts=SECOND)]
    await scene.play()
    assert scene.terminal.reason == "max_turns"
    assert notices(scene.events, "model_fallback") == []


async def test_after_the_last_of_the_broken_replies_nobody_waits():
    scene = breaking(*[None] * 6, then=())
    await scene.play()
    assert scene.terminal.reason == "model_error"
    assert len(scene.model.requests) == 6
    assert attempts(scene) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("has_effect", [True, False])
async def test_where_the_budget_is_used_up_nobody_waits_and_what_was_said_stays(has_effect: bool):
    used = Usage(9_000, 1_000)
    replies = Broken()
    cut = Cut(Reply(say("half"), say("x"), usage=used), after_blocks=1)
    scene = replies.scene(replies.reply(usage=used) if has_effect else cut)
    scene.budget = TreeBudget(BudgetLimits(max_total_tokens=10_000), scene.clock)
    events = await scene.play()
    assert scene.terminal.reason == "budget_exhausted"
    assert len(scene.model.requests) == 1
    assert attempts(scene) == []
    assert len(notices(events, "response_incomplete")) == 1
    assert not any(isinstance(event, Tombstone) for event in events)
    assert len([event for event in events if isinstance(event, AssistantEvent)]) >= 1
    assert has_effect or "the stream ended" in scene.terminal.error
    assert scene.is_same_on_disk


async def test_a_call_that_still_runs_when_the_budget_is_used_up_is_stopped_and_not_put_down_to_the_user():
    never = Gate()

    async def waits(_input: object, _context: object) -> None:
        await never.wait()

    scene = patient_scene(Cut(Reply(call("Look", "t1"), say("x"), usage=Usage(9_000, 1_000)), after_blocks=1))
    scene.tools = [fake_tool("Look", waits, log=scene.log, is_read_only=True)]
    scene.budget = TreeBudget(BudgetLimits(max_total_tokens=10_000), scene.clock)
    await scene.play()
    (result,) = results(scene)
    assert result.is_error
    assert "user" not in str(result.content)
    assert scene.terminal.reason == "budget_exhausted"

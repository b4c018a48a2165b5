"""A prompt that is too long, where parts of the conversation are staged for collapse: these are committed before anything else."""

from collections.abc import Sequence
from itertools import pairwise

import anyio
from msgspec.structs import fields, replace
from tests.loop.scene import Scene
from tests.loop.transitions.test_overflowed import (
    TOO_LONG,
    compacting,
    errors,
    limited_to,
    long_state,
    long_talk,
    size,
)

from ostinato.events import SystemEvent
from ostinato.history import History
from ostinato.loop.transitions.overflowed import overflowed
from ostinato.loop.transitions.step import End, Next
from ostinato.messages import Text, UserMessage
from ostinato.ports import QuerySource
from ostinato.records import AnyEdit, Boundary, Continued, Fold
from ostinato.state import Bounds, Overflowed, State
from ostinato.testing import Fails, Gate, Reply, ScriptedModel, call, fake_tool, say, transitions


def account(uuid: str) -> UserMessage:
    return UserMessage(uuid, (Text("(what was done)"),), is_meta=True, origin="summary")


class Staged:
    """Spans of messages that are ready to be collapsed; the first drain commits so many of them, the next the rest."""

    def __init__(self, *spans: tuple[str, str], at_once: int = 99) -> None:
        self.spans = list(spans)
        self.at_once = at_once
        self.drains = 0

    async def __call__(self, messages: History) -> Sequence[AnyEdit]:
        del messages
        self.drains += 1
        taken, self.spans = self.spans[: self.at_once], self.spans[self.at_once :]
        return [Fold(f"f{first}", first, last, account(f"s{first}")) for first, last in taken]


async def test_what_is_staged_is_committed_and_the_request_sent_again_without_an_error():
    staged = Staged(("a0", "a29"), ("a30", "a57"))
    scene = compacting(Scene(limited_to(50_000, Reply(say("done"))), before=long_talk()))
    scene.drain_collapsed = staged
    events = await scene.play()
    assert scene.terminal.reason == "completed"
    assert scene.terminal.transitions == (Continued("collapse_drain_retry", 1, committed=2),)
    assert errors(scene) == []
    first, second = scene.model.requests
    assert size(second) < size(first)
    assert [e.message.subtype for e in events if isinstance(e, SystemEvent)] == ["context_collapse"]
    assert not any(isinstance(record, Boundary) for record in scene.journal.records)
    folded = scene.written
    assert folded.view() == scene.view


async def test_if_that_does_not_help_the_rest_is_compacted_and_then_the_error_comes_once():
    staged = Staged(("a0", "a5"), ("a6", "a9"), at_once=1)
    scene = compacting(Scene(limited_to(10), before=long_talk()))
    scene.drain_collapsed = staged
    await scene.play()
    assert transitions(scene.terminal)[:2] == ("collapse_drain_retry", "reactive_compact_retry")
    assert scene.terminal.reason == "prompt_too_long"
    assert len(errors(scene)) == 1


async def test_a_drain_that_always_has_more_comes_to_an_end():
    async def endless(messages: History) -> Sequence[AnyEdit]:
        first = messages.view()[0].uuid
        return [Fold(f"f{len(messages.log())}", first, first, account(f"s{len(messages.log())}"))]

    scene = compacting(Scene(limited_to(10), before=long_talk()))
    scene.drain_collapsed = endless
    await scene.play()
    reasons = transitions(scene.terminal)
    assert scene.terminal.reason == "prompt_too_long"
    assert ("collapse_drain_retry", "collapse_drain_retry") not in set(pairwise(reasons))
    assert len(reasons) <= 3


async def test_where_nothing_is_staged_the_conversation_is_compacted():
    scene = compacting(Scene(limited_to(400_000, Reply(say("done"))), before=long_talk()))
    scene.drain_collapsed = Staged()
    await scene.play()
    assert transitions(scene.terminal) == ("reactive_compact_retry",)


async def test_after_a_round_of_tools_it_may_be_done_again():
    staged = Staged(("a0", "a5"), ("a6", "a9"), at_once=1)
    turns = [Fails(TOO_LONG), Reply(call("Look", "t1")), Fails(TOO_LONG), Reply(say("done"))]
    scene = compacting(Scene(ScriptedModel(*turns), [fake_tool("Look")], before=long_talk()))
    scene.drain_collapsed = staged
    await scene.play()
    assert transitions(scene.terminal) == ("collapse_drain_retry", "next_turn", "collapse_drain_retry")
    assert staged.spans == []


async def test_an_abort_while_it_is_committed_leaves_the_history_as_it_was():
    gate = Gate()

    async def slow(messages: History) -> Sequence[AnyEdit]:
        await gate.wait()
        return [Fold("f", "a0", "a5", account("s"))]

    scene = compacting(Scene(ScriptedModel(Fails(TOO_LONG)), before=long_talk(), drain_collapsed=slow))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort("user")
    assert scene.terminal.reason == "aborted_streaming"
    assert not any(isinstance(record, Fold | Boundary) for record in scene.journal.records)


# ------------------------------------------------------------------ the State


async def step_of(state: State, staged: Staged) -> Next | End:
    scene = compacting(Scene(ScriptedModel(), drain_collapsed=staged))
    return await overflowed(state, Overflowed(error=TOO_LONG), scene.deps(), None)


async def test_each_field_of_the_state_is_set():
    before = replace(long_state(), has_attempted_reactive_compact=True)
    step = await step_of(before, Staged(("a0", "a5"), ("a6", "a9"), ("a10", "a11")))
    assert isinstance(step, Next)
    expected = {
        "auto_compact_tracking": before.auto_compact_tracking,
        "max_output_tokens_recovery_count": 2,
        "has_attempted_reactive_compact": True,
        "max_output_tokens_override": 64_000,
        "pending_tool_use_summary": None,
        "stop_hook_active": True,
        "turn_count": 7,
        "transition": Continued("collapse_drain_retry", 7, committed=3),
        "bounds": Bounds(nudges=4),
    }
    assert {name: getattr(step.state, name) for name in expected} == expected
    assert {field.name for field in fields(State)} == {*expected, "messages", "tool_use_context"}
    assert step.state.tool_use_context is before.tool_use_context
    uuids = [message.uuid for message in step.state.messages]
    assert {"sa0", "sa6", "sa10"} <= set(uuids)
    assert not {"a0", "a3", "a9", "a11"} & set(uuids)


async def test_it_is_not_done_twice_in_a_row():
    staged = Staged(("a0", "a5"))
    before = replace(long_state(), transition=Continued("collapse_drain_retry", 7, committed=1))
    step = await step_of(before, staged)
    assert isinstance(step, Next)
    assert step.transition.reason == "reactive_compact_retry"
    assert staged.drains == 0


async def test_a_compaction_commits_nothing():
    staged, state = Staged(("a0", "a5")), long_state()
    inside = replace(state, tool_use_context=replace(state.tool_use_context, source=QuerySource("compact")))
    assert isinstance(await step_of(inside, staged), End)
    assert staged.drains == 0

"""One table for all transitions: what each sets in the State and in its bounds; whatever it does not name stays as it was."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

import anyio.lowlevel
import pytest
from msgspec.structs import fields, replace
from msgspec.structs import replace as changed
from tests.loop.scene import Scene
from tests.loop.transitions.test_used_tools import CALL, RESULT, busy_state

from ostinato.errors import ModelError
from ostinato.history import History
from ostinato.loop.deps import DrainCollapsed
from ostinato.loop.transitions.answered import answered
from ostinato.loop.transitions.overflowed import overflowed
from ostinato.loop.transitions.repaired import repaired
from ostinato.loop.transitions.step import Next, Step
from ostinato.loop.transitions.truncated import truncated
from ostinato.loop.transitions.unfinished import empty, paused
from ostinato.loop.transitions.used_tools import used_tools
from ostinato.messages import Text, assistant_fragment, meta_prompt
from ostinato.records import AnyEdit, Continued, Fold, Snip
from ostinato.repetition import Repeats
from ostinato.state import (
    Answered,
    AutoCompactTracking,
    Bounds,
    ContinueReason,
    Empty,
    Failed,
    Failing,
    Overflowed,
    Paused,
    State,
    TokenTarget,
    Truncated,
    UsedTools,
    initial_state,
)
from ostinato.stop_hooks import BlockStop, StopHook, Stopping
from ostinato.testing import ScriptedModel

ACCOUNT = meta_prompt("account", "what was done", origin="summary")
SAID = assistant_fragment("said", "r", "m", Text("so far"))
TOO_LONG = ModelError("too long", kind="prompt_too_long", status=400, recover="compact")
ILLEGAL = ModelError("illegal", kind="invalid_request", status=400, recover="repair_history")
TARGET = TokenTarget(100_000)

EACH_COUNTED = Bounds(
    stop_hook_blocks=1,
    nudges=2,
    pauses=3,
    empties=1,
    repairs=1,
    fallback_index=2,
    refills=1,
    malformed_calls=2,
    incomplete=3,
    failing=Failing(calls=3, overloads=1),
    token_target=TARGET,
    repeats=Repeats(idle=2),
)
"""Every bounded thing has happened."""


async def blocks(_stopping: Stopping, /) -> BlockStop:
    await anyio.lowlevel.checkpoint()
    return BlockStop("more")


async def fold(_messages: History) -> Sequence[AnyEdit]:
    await anyio.lowlevel.checkpoint()
    return (Fold("fold", "prompt", "prompt", ACCOUNT),)


async def snip(messages: History, error: object, model: object) -> Sequence[AnyEdit]:
    await anyio.lowlevel.checkpoint()
    return (Snip("snip", "prompt", "prompt", ACCOUNT),)


async def next_turn(state: State, scene: Scene) -> Step:
    return await used_tools(state, UsedTools(records=(CALL, RESULT)), scene.deps(), None)


async def cut(state: State, scene: Scene) -> Step:
    outcome = Truncated(records=(SAID,), max_output_tokens=8_000)
    return truncated(state, outcome, scene.deps(), may_escalate=True, max_searches=0)


async def too_long(state: State, scene: Scene) -> Step:
    return await overflowed(state, Overflowed(error=TOO_LONG), scene.deps(), None)


async def spoken(state: State, scene: Scene) -> Step:
    outcome = Answered(records=(SAID,), reply=SAID)
    return await answered(state, outcome, scene.params(), scene.deps(), turn_tokens=5_000)


async def pause(state: State, scene: Scene) -> Step:
    outcome = Paused(records=(SAID,), reply=SAID)
    return await paused(state, outcome, scene.params(), scene.deps(), turn_tokens=0)


async def silence(state: State, scene: Scene) -> Step:
    return await empty(state, Empty(), scene.params(), scene.deps(), turn_tokens=0)


async def illegal(state: State, scene: Scene) -> Step:
    return repaired(state, Failed(error=ILLEGAL), scene.deps(), 2)


@dataclass(frozen=True)
class Row:
    """What makes the transition, and what it sets. `given` is what the state before must have for it. In `view`, a plus stands for
    what the transition adds.
    """

    make: Callable[[State, Scene], Awaitable[Step]]
    transition: Continued
    view: str
    sets: Mapping[str, object] = field(default_factory=dict[str, object])
    bounds: Mapping[str, object] = field(default_factory=dict[str, object])
    given: Mapping[str, object] = field(default_factory=dict[str, object])
    hooks: Sequence[StopHook] = ()
    drain: DrainCollapsed | None = None


WORKED_ON = TokenTarget(100_000, last_gained_tokens=5_000, last_turn_tokens=5_000)

TABLE: dict[ContinueReason, Row] = {
    "next_turn": Row(
        next_turn,
        Continued("next_turn", 8),
        "prompt a b",
        sets={
            "max_output_tokens_recovery_count": 0,
            "has_attempted_reactive_compact": False,
            "max_output_tokens_override": None,
            "auto_compact_tracking": AutoCompactTracking("turn", 4, 1),
            "turn_count": 8,
        },
        bounds={"pauses": 0, "empties": 0, "malformed_calls": 0, "incomplete": 0, "failing": Failing()},
    ),
    "max_output_tokens_escalate": Row(
        cut,
        Continued("max_output_tokens_escalate", 7),
        "prompt",
        sets={"max_output_tokens_override": 64_000},
        given={"max_output_tokens_override": None},
    ),
    "max_output_tokens_recovery": Row(
        cut,
        Continued("max_output_tokens_recovery", 7, attempt=3),
        "prompt said +",
        sets={"max_output_tokens_recovery_count": 3},
    ),
    "reactive_compact_retry": Row(
        too_long,
        Continued("reactive_compact_retry", 7),
        "account +",
        sets={"has_attempted_reactive_compact": True, "max_output_tokens_override": None},
        given={"has_attempted_reactive_compact": False},
    ),
    "collapse_drain_retry": Row(
        too_long, Continued("collapse_drain_retry", 7, committed=1), "account +", drain=fold
    ),
    "stop_hook_blocking": Row(
        spoken,
        Continued("stop_hook_blocking", 7, attempt=2),
        "prompt said +",
        sets={
            "max_output_tokens_recovery_count": 0,
            "max_output_tokens_override": None,
            "stop_hook_active": True,
        },
        bounds={"stop_hook_blocks": 2},
        given={"stop_hook_active": False},
        hooks=[blocks],
    ),
    "token_budget_continuation": Row(
        spoken,
        Continued("token_budget_continuation", 7, attempt=3),
        "prompt said +",
        sets={
            "max_output_tokens_recovery_count": 0,
            "has_attempted_reactive_compact": False,
            "max_output_tokens_override": None,
        },
        bounds={"nudges": 3, "token_target": WORKED_ON},
    ),
    "pause_turn_resume": Row(
        pause, Continued("pause_turn_resume", 7, attempt=4), "prompt said", bounds={"pauses": 4}
    ),
    "empty_response_retry": Row(
        silence, Continued("empty_response_retry", 7, attempt=2), "prompt +", bounds={"empties": 2}
    ),
    "history_repair_retry": Row(
        illegal, Continued("history_repair_retry", 7, attempt=2), "prompt +", bounds={"repairs": 2}
    ),
}


def test_every_reason_to_go_on_has_its_row():
    assert set(TABLE) == set(get_args(ContinueReason))


def test_before_each_transition_every_counter_and_flag_differs_from_its_first_value():
    first = Bounds()
    assert [
        name for name in Bounds.__struct_fields__ if getattr(EACH_COUNTED, name) == getattr(first, name)
    ] == []
    params = Scene(ScriptedModel()).params()
    fresh, busy = initial_state(params.messages, params.tool_use_context), busy_state()
    same = {one.name for one in fields(State) if getattr(fresh, one.name) == getattr(busy, one.name)}
    assert same <= {"messages", "tool_use_context"}


@pytest.mark.parametrize("reason", TABLE)
async def test_each_field_is_set_as_the_table_says_and_all_others_stay(reason: ContinueReason):
    row = TABLE[reason]
    before = replace(busy_state(), bounds=EACH_COUNTED, **row.given)
    scene = Scene(ScriptedModel(), stop_hooks=row.hooks, drain_collapsed=row.drain, shorten=snip)
    step = await row.make(before, scene)
    assert isinstance(step, Next)
    assert step.transition == row.transition
    after = {one.name: getattr(step.state, one.name) for one in fields(State)}
    messages = after.pop("messages")
    kept = {name: getattr(before, name) for name in after}
    always = {"pending_tool_use_summary": None, "transition": row.transition}
    assert after == {**kept, **always, **row.sets, "bounds": changed(EACH_COUNTED, **row.bounds)}
    assert step.state.tool_use_context is before.tool_use_context
    added = {message.uuid for message in step.added}
    assert " ".join("+" if m.uuid in added else m.uuid for m in messages) == row.view


@pytest.mark.parametrize("reason", TABLE)
async def test_the_state_before_stays_as_it_was(reason: ContinueReason):
    row = TABLE[reason]
    before = replace(busy_state(), bounds=EACH_COUNTED, **row.given)
    view = before.messages.view()
    scene = Scene(ScriptedModel(), stop_hooks=row.hooks, drain_collapsed=row.drain, shorten=snip)
    await row.make(before, scene)
    assert before.messages.view() == view
    assert before == replace(
        busy_state(),
        bounds=EACH_COUNTED,
        **row.given,
        messages=before.messages,
        tool_use_context=before.tool_use_context,
    )

"""After tools: a whole new State, every field set on purpose, the old one untouched."""

from collections.abc import Sequence

import anyio.lowlevel
import pytest
from msgspec.structs import fields, replace
from tests.loop.scene import Scene

from ostinato.history import History
from ostinato.loop.transitions.step import End, Next
from ostinato.loop.transitions.used_tools import used_tools
from ostinato.messages import (
    Message,
    Reminder,
    ToolResult,
    ToolUse,
    assistant_fragment,
    attachment_message,
    tool_result_message,
)
from ostinato.records import Continued
from ostinato.state import AutoCompactTracking, Bounds, State, UsedTools, initial_state
from ostinato.testing import ScriptedModel

CALL = assistant_fragment("a", "r", "m", ToolUse("t1", "Look", {}))
RESULT = tool_result_message("b", ToolResult("t1", "42"))
REMINDER = attachment_message("c", Reminder("date", "It is Monday."))


async def attach(view: Sequence[Message]) -> Sequence[Message]:
    await anyio.lowlevel.checkpoint()
    return (REMINDER,)


def busy_state() -> State:
    """A state in which every field differs from its first value."""
    params = Scene(ScriptedModel()).params()
    return replace(
        initial_state(params.messages, params.tool_use_context),
        auto_compact_tracking=AutoCompactTracking("turn", 3, 1),
        max_output_tokens_recovery_count=2,
        has_attempted_reactive_compact=True,
        max_output_tokens_override=64_000,
        pending_tool_use_summary="what was done",
        stop_hook_active=True,
        turn_count=7,
        transition=Continued("max_output_tokens_recovery", 7, attempt=2),
        bounds=Bounds(nudges=4),
    )


async def following(state: State) -> State:
    deps = replace(Scene(ScriptedModel()).deps(), collect_attachments=attach)
    step = await used_tools(state, UsedTools(records=(CALL, RESULT)), deps, None)
    assert isinstance(step, Next)
    assert step.added == (REMINDER,)
    return step.state


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("auto_compact_tracking", AutoCompactTracking("turn", 4, 1)),
        ("max_output_tokens_recovery_count", 0),
        ("has_attempted_reactive_compact", False),
        ("max_output_tokens_override", None),
        ("pending_tool_use_summary", None),
        ("stop_hook_active", True),
        ("turn_count", 8),
        ("transition", Continued("next_turn", 8)),
        ("bounds", Bounds(nudges=4)),
    ],
)
async def test_the_next_turn_sets_each_field_of_the_state(name: str, expected: object):
    assert getattr(await following(busy_state()), name) == expected


async def test_the_next_turn_shares_tools_permissions_and_abort_with_the_last():
    state = busy_state()
    assert (await following(state)).tool_use_context is state.tool_use_context


async def test_the_next_history_is_the_last_view_with_reply_results_and_attachments():
    state = busy_state()
    assert (await following(state)).messages.view() == [
        *state.messages.view(),
        *History.empty().extend((CALL, RESULT)).view(),
        REMINDER,
    ]


async def test_the_table_above_leaves_no_field_of_the_state_out():
    covered = {"messages", "tool_use_context", "bounds"} | {
        "auto_compact_tracking",
        "max_output_tokens_recovery_count",
        "has_attempted_reactive_compact",
        "max_output_tokens_override",
        "pending_tool_use_summary",
        "stop_hook_active",
        "turn_count",
        "transition",
    }
    assert {field.name for field in fields(State)} == covered


async def test_a_transition_makes_a_new_state_and_leaves_the_old_one_as_it_was():
    state, same = busy_state(), busy_state()
    after = await following(state)
    assert after is not state
    for field in fields(State):
        before, untouched = getattr(state, field.name), getattr(same, field.name)
        if field.name == "messages":
            assert state.messages.view() == same.messages.view()
        elif field.name != "tool_use_context":
            assert before == untouched
        with pytest.raises(AttributeError):
            setattr(after, field.name, before)


async def test_the_turn_limit_ends_instead_of_going_on():
    deps = Scene(ScriptedModel()).deps()
    step = await used_tools(busy_state(), UsedTools(records=(CALL, RESULT)), deps, 7)
    assert isinstance(step, End)
    assert (step.reason, step.turn_count) == ("max_turns", 8)

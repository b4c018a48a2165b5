"""The first State of a query, and the closed sets of reasons to go on and to end."""

from typing import get_args

from tests.loop.scene import Scene

from ostinato.events import TerminalReason
from ostinato.state import Bounds, ContinueReason, initial_state
from ostinato.testing import ScriptedModel


def test_a_query_starts_at_turn_one_with_every_counter_at_zero_and_no_transition():
    params = Scene(ScriptedModel()).params()
    state = initial_state(params.messages, params.tool_use_context, max_output_tokens_override=99)
    assert state.messages is params.messages
    assert state.tool_use_context is params.tool_use_context
    assert state.max_output_tokens_override == 99
    assert state.turn_count == 1
    assert state.max_output_tokens_recovery_count == 0
    assert state.has_attempted_reactive_compact is False
    assert state.stop_hook_active is False
    assert state.auto_compact_tracking is None
    assert state.pending_tool_use_summary is None
    assert state.transition is None
    assert state.bounds == Bounds()


def test_the_reasons_to_go_on_are_a_closed_set():
    field = {
        "next_turn",
        "max_output_tokens_escalate",
        "max_output_tokens_recovery",
        "reactive_compact_retry",
        "collapse_drain_retry",
        "stop_hook_blocking",
        "token_budget_continuation",
    }
    ours = {"pause_turn_resume", "empty_response_retry", "history_repair_retry"}
    assert set(get_args(ContinueReason)) == field | ours


def test_the_reasons_to_end_are_a_closed_set():
    field = {
        "completed",
        "aborted_streaming",
        "aborted_tools",
        "max_turns",
        "prompt_too_long",
        "model_error",
        "hook_stopped",
        "stop_hook_prevented",
        "blocking_limit",
    }
    ours = {
        "refused",
        "image_error",
        "budget_exhausted",
        "rapid_refill_breaker",
        "malformed_tool_use_exhausted",
        "no_progress",
        "structured_output_retry_exhausted",
        "tool_deferred",
    }
    assert set(get_args(TerminalReason)) == field | ours

"""Replies that are no answer yet: one that the provider has paused is sent back to go on, an empty one is asked about once."""

from msgspec.structs import replace

from ostinato.loop import results
from ostinato.loop.deps import Deps
from ostinato.loop.transitions.step import End, Next, Step
from ostinato.messages import Message, meta_prompt
from ostinato.records import Continued
from ostinato.state import Bounds, ContinueReason, Empty, Paused, State

MAX_PAUSES = 5
"""In one query; a provider that pauses on and on has ended it."""

MAX_EMPTY_REPLIES = 1


def unfinished(state: State, outcome: Paused | Empty, deps: Deps) -> Step:
    return paused(state, outcome) if isinstance(outcome, Paused) else empty(state, outcome, deps)


def paused(state: State, outcome: Paused) -> Step:
    if state.bounds.pauses >= MAX_PAUSES:
        return End("completed")
    bounds = replace(state.bounds, pauses=state.bounds.pauses + 1)
    return _gone_on(state, outcome, "pause_turn_resume", bounds)


def empty(state: State, outcome: Empty, deps: Deps) -> Step:
    """Nothing was said, or only thought: a slip more often than an answer."""
    if state.bounds.empties >= MAX_EMPTY_REPLIES:
        return End("completed")
    bounds = replace(state.bounds, empties=state.bounds.empties + 1)
    question = meta_prompt(deps.ids.uuid(), results.EMPTY_PROMPT, origin="recovery")
    return _gone_on(state, outcome, "empty_response_retry", bounds, question)


def _gone_on(
    state: State, outcome: Paused | Empty, reason: ContinueReason, bounds: Bounds, *added: Message
) -> Next:
    transition = Continued(reason, state.turn_count)
    following = State(
        messages=state.messages.extend((*outcome.records, *added)),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
        has_attempted_reactive_compact=state.has_attempted_reactive_compact,
        max_output_tokens_override=state.max_output_tokens_override,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=state.turn_count,
        transition=transition,
        bounds=bounds,
    )
    return Next(following, transition, added)

"""A reply that reached its output limit: say it again with room, then go on where it broke off, at most three times.

The error is withheld while this lasts, and released exactly once if it does not help.
"""

from functools import partial

from ostinato.loop import results
from ostinato.loop.budget import room_left
from ostinato.loop.deps import Deps
from ostinato.loop.transitions.silent import has_spoken, silent
from ostinato.loop.transitions.step import End, Next, Step
from ostinato.messages import AssistantMessage, UserMessage, api_error_message, meta_prompt
from ostinato.model_window import prompt_tokens
from ostinato.records import Continued, ResponseEnded, Retract
from ostinato.state import State, Truncated

ESCALATED_MAX_OUTPUT_TOKENS = 64_000
"""The field's second limit (semantics §26); never above the model's own."""

MAX_RECOVERIES = 3
"""Resumes in a row; a round of tools starts the count again."""

CUT_SILENTLY = (
    "The model used up its output limit of {limit} tokens {count} times in a row without a word for the user."
)
CUT_SILENTLY_HINT = "let it think less, raise the output limit, ask for less at once, or choose another model"
OUTPUT_LIMIT = "The reply reached the output limit of {limit} tokens and was cut."


def truncated(state: State, outcome: Truncated, deps: Deps, *, may_escalate: bool, max_searches: int) -> Step:
    """`may_escalate`: the caller has set no limit of its own. `max_searches`: so often the provider may search in a reply."""
    again = said_again(state, outcome, deps, max_searches=max_searches) if may_escalate else None
    if again is not None:
        return again
    if state.max_output_tokens_recovery_count < MAX_RECOVERIES:
        return _gone_on_with(state, outcome, deps)
    limit = outcome.max_output_tokens
    if not has_spoken(state.messages.extend(outcome.records).view()):
        count = state.max_output_tokens_recovery_count + 1
        return silent(state, deps, CUT_SILENTLY.format(limit=limit, count=count), CUT_SILENTLY_HINT)
    text = OUTPUT_LIMIT.format(limit=limit)
    return End("completed", (api_error_message(deps.ids.uuid(), state.tool_use_context.model.id, text),))


def said_again(state: State, outcome: Truncated, deps: Deps, *, max_searches: int) -> Next | None:
    """The same request with a higher limit; None where that was tried, where there is none, or where window or budget have no
    room for it: a long reply is not thrown away for one that would be cut sooner. What was cut is gone, from the screen too: the whole
    reply comes again.
    """
    facts = deps.fallbacks.windows.believed(state.tool_use_context.model)
    limit = min(ESCALATED_MAX_OUTPUT_TOKENS, facts.max_output_tokens)
    has_room = limit > outcome.max_output_tokens and not (outcome.is_shortened or outcome.is_window_full)
    if state.max_output_tokens_override is not None or not has_room:
        return None
    sent = partial(_sent_tokens, outcome)
    if room_left(deps.budget, facts, sent, limit, searches=max_searches) != limit:
        return None
    gone = {uuid for record in outcome.records if isinstance(record, Retract) for uuid in record.ids}
    cut = tuple(
        record.uuid
        for record in outcome.records
        if isinstance(record, AssistantMessage | UserMessage) and record.uuid not in gone
    )
    edits = (Retract(deps.ids.uuid(), cut),) if cut else ()
    transition = Continued("max_output_tokens_escalate", state.turn_count)
    following = State(
        messages=state.messages.extend(outcome.records).extend(edits),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
        has_attempted_reactive_compact=state.has_attempted_reactive_compact,
        max_output_tokens_override=limit,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=state.turn_count,
        transition=transition,
        bounds=state.bounds,
    )
    return Next(following, transition, edits=edits)


def _sent_tokens(outcome: Truncated) -> int:
    """The prompt of the cut reply, as its provider counted it."""
    counted = [prompt_tokens(record.usage) for record in outcome.records if isinstance(record, ResponseEnded)]
    return counted[-1] if counted else 0


def _gone_on_with(state: State, outcome: Truncated, deps: Deps) -> Next:
    """The part stays, and the model is asked to go on from there."""
    attempt = state.max_output_tokens_recovery_count + 1
    resume = meta_prompt(deps.ids.uuid(), results.RESUME_PROMPT, origin="recovery")
    transition = Continued("max_output_tokens_recovery", state.turn_count, attempt=attempt)
    following = State(
        messages=state.messages.extend(outcome.records).append(resume),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=attempt,
        has_attempted_reactive_compact=state.has_attempted_reactive_compact,
        max_output_tokens_override=state.max_output_tokens_override,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=state.turn_count,
        transition=transition,
        bounds=state.bounds,
    )
    return Next(following, transition, (resume,))

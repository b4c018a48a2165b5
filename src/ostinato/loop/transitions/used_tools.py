"""After tools: what the model should also know, the turn limit, what the user typed meanwhile, the next turn."""

from msgspec.structs import replace

from ostinato.loop.abortable import found_unless_aborted
from ostinato.loop.deps import Deps
from ostinato.loop.queued_prompts import queued_messages
from ostinato.loop.transitions.failed import released
from ostinato.loop.transitions.step import End, Next, Step, Why
from ostinato.messages import (
    AssistantMessage,
    MaxTurnsReached,
    Message,
    api_error_message,
    attachment_message,
)
from ostinato.records import Continued, Retract
from ostinato.state import NO_FAILURES, AutoCompactTracking, State, UsedTools

MAX_INCOMPLETE = 5
"""So many replies in a row that broke off after they had done something; then nothing speaks for a whole one to come."""

MAX_MALFORMED = 3
"""So many replies in a row none of whose calls could be read: the model was told each time, and more of it helps nobody."""

MALFORMED = "{count} replies in a row asked for tools with arguments that could not be read."
MALFORMED_HINT = "ask for smaller steps, raise the output limit if replies are cut, or choose another model"


async def used_tools(state: State, outcome: UsedTools, deps: Deps, max_turns: int | None) -> Step:
    """`max_turns = N` allows exactly N model calls: the limit is checked after the tools of the Nth.

    What was typed meanwhile stands behind all else, as it is the newest, and is taken only by a query that goes on: where the
    turn limit ends it, nobody would answer, so it waits for a query of its own.
    """
    messages = state.messages.extend(outcome.records)
    abort = state.tool_use_context.abort
    view = messages.view()
    found = await found_unless_aborted(abort, deps.collect_attachments(view))
    added = (*outcome.added, *found)
    malformed = state.bounds.malformed_calls + 1 if _is_malformed(outcome) else 0
    if malformed >= MAX_MALFORMED:
        return _no_more_malformed(state, deps, added, malformed)
    next_turn_count = state.turn_count + 1
    incomplete = state.bounds.incomplete + 1 if outcome.broken_by else 0
    failing = state.bounds.failing if outcome.broken_by else NO_FAILURES
    if incomplete > MAX_INCOMPLETE:
        end = released("model_error", state, outcome.broken_by, deps)
        return replace(end, added=(*added, *end.added))
    if max_turns is not None and next_turn_count > max_turns:
        limit = attachment_message(deps.ids.uuid(), MaxTurnsReached(max_turns, next_turn_count))
        return End("max_turns", (*added, limit), turn_count=next_turn_count)
    added = (*added, *await queued_messages(deps, view, added, abort))
    transition = Continued("next_turn", next_turn_count)
    following = State(
        messages=messages.extend(added),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=_a_turn_later(state.auto_compact_tracking),
        max_output_tokens_recovery_count=0,
        has_attempted_reactive_compact=False,
        max_output_tokens_override=None,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=next_turn_count,
        transition=transition,
        bounds=replace(
            state.bounds,
            pauses=0,
            empties=0,
            incomplete=incomplete,
            malformed_calls=malformed,
            failing=failing,
        ),
    )
    return Next(following, transition, added)


def _a_turn_later(tracking: AutoCompactTracking | None) -> AutoCompactTracking | None:
    return None if tracking is None else replace(tracking, turn_counter=tracking.turn_counter + 1)


def may_go_on_with_part(state: State, max_turns: int | None) -> bool:
    """Whether another call may follow a reply that broke off and is kept: else nobody waits for one."""
    is_last_turn = max_turns is not None and state.turn_count >= max_turns
    return not is_last_turn and state.bounds.incomplete < MAX_INCOMPLETE


def _is_malformed(outcome: UsedTools) -> bool:
    """Whether no call of the reply could be read; one that could is progress. Attempts that were taken back do not count."""
    gone = {uuid for record in outcome.records if isinstance(record, Retract) for uuid in record.ids}
    calls = [
        call
        for record in outcome.records
        if isinstance(record, AssistantMessage) and record.uuid not in gone
        for call in record.tool_uses
    ]
    return bool(calls) and all(call.invalid_input is not None for call in calls)


def _no_more_malformed(state: State, deps: Deps, added: tuple[Message, ...], count: int) -> End:
    text = MALFORMED.format(count=count)
    note = api_error_message(deps.ids.uuid(), state.tool_use_context.model.id, text)
    why = Why(text, MALFORMED_HINT, "malformed_tool_use")
    return End("malformed_tool_use_exhausted", (*added, note), why)

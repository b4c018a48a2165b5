"""After tools: what the model should also know, the turn limit, what the user typed meanwhile, the next turn."""

from msgspec.structs import replace

from ostinato.loop.abortable import unless_aborted
from ostinato.loop.deps import Deps
from ostinato.loop.queued_prompts import queued_messages
from ostinato.loop.transitions.failed import released
from ostinato.loop.transitions.step import End, Next, Step
from ostinato.messages import MaxTurnsReached, attachment_message
from ostinato.records import Continued
from ostinato.state import State, UsedTools

MAX_INCOMPLETE = 5
"""So many replies in a row that broke off after they had done something; then nothing speaks for a whole one to come."""


async def used_tools(state: State, outcome: UsedTools, deps: Deps, max_turns: int | None) -> Step:
    """`max_turns = N` allows exactly N model calls: the limit is checked after the tools of the Nth.

    What was typed meanwhile stands behind all else, as it is the newest, and is taken only by a query that goes on: where the
    turn limit ends it, nobody would answer, so it waits for a query of its own.
    """
    messages = state.messages.extend(outcome.records)
    abort = state.tool_use_context.abort
    view = messages.view()
    added = tuple(await unless_aborted(abort, lambda: deps.collect_attachments(view), otherwise=()))
    next_turn_count = state.turn_count + 1
    incomplete = state.bounds.incomplete + 1 if outcome.broken_by else 0
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
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=0,
        has_attempted_reactive_compact=False,
        max_output_tokens_override=None,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=next_turn_count,
        transition=transition,
        bounds=replace(state.bounds, incomplete=incomplete),
    )
    return Next(following, transition, added)

"""The provider says that the history is illegal: it is sent again, repaired more thoroughly each time, at most three times.

The history itself stays as it is; only requests change, from here to the end of the query.
"""

from msgspec.structs import replace

from ostinato.loop.deps import Deps
from ostinato.loop.transitions.step import Next
from ostinato.messages import notice_message
from ostinato.records import Continued
from ostinato.state import Failed, State

REPAIRED = "The model's provider found the conversation illegal ({why}). It is sent again, repaired (level {level} of 3)."


def repaired(state: State, outcome: Failed, deps: Deps, level: int) -> Next:
    """`level` is the next one that changes the request."""
    why = outcome.error.message if outcome.error else "no reason given"
    notice = notice_message(
        deps.ids.uuid(), "history_repair", REPAIRED.format(why=why, level=level), level="warning"
    )
    transition = Continued("history_repair_retry", state.turn_count, attempt=level)
    following = State(
        messages=state.messages.extend(outcome.records).append(notice),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
        has_attempted_reactive_compact=state.has_attempted_reactive_compact,
        max_output_tokens_override=state.max_output_tokens_override,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=state.turn_count,
        transition=transition,
        bounds=replace(state.bounds, repairs=level),
    )
    return Next(following, transition, (notice,))

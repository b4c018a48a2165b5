"""The transition that a turn's outcome makes: one match over all outcomes.

Nothing of it is needed before a first turn has ended: the loop loads it then.
"""

from typing import assert_never

import msgspec

from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.guards.guarded import guarded
from ostinato.loop.request import RequestBuilder, searches_web
from ostinato.loop.transitions.aborted import aborted
from ostinato.loop.transitions.answered import answered
from ostinato.loop.transitions.blocked import blocked
from ostinato.loop.transitions.exhausted import exhausted
from ostinato.loop.transitions.failed import failed
from ostinato.loop.transitions.hook_stopped import hook_stopped
from ostinato.loop.transitions.overflowed import media_rejected, overflowed
from ostinato.loop.transitions.refused import refused
from ostinato.loop.transitions.repaired import repaired
from ostinato.loop.transitions.step import Step
from ostinato.loop.transitions.truncated import said_again, truncated
from ostinato.loop.transitions.unfinished import empty, paused
from ostinato.loop.transitions.used_tools import used_tools
from ostinato.ports import MAX_SEARCHES
from ostinato.state import (
    Aborted,
    Answered,
    Blocked,
    Empty,
    Exhausted,
    Failed,
    HookStopped,
    MediaRejected,
    Outcome,
    Overflowed,
    Paused,
    Refused,
    State,
    Truncated,
    UsedTools,
)


async def next_step(
    state: State,
    outcome: Outcome,
    params: QueryParams,
    deps: Deps,
    requests: RequestBuilder,
    *,
    turn_tokens: int,
) -> Step:
    """`turn_tokens`: what the query has said until now."""
    match outcome:
        case UsedTools():
            again = _said_again(state, outcome, params, deps)
            if again is not None:
                return again
            step = await used_tools(state, outcome, deps, params.max_turns)
            return await guarded(step, state, outcome, deps, params.config)
        case Answered():
            return await answered(state, outcome, params, deps, turn_tokens=turn_tokens)
        case Paused():
            return await paused(state, outcome, params, deps, turn_tokens=turn_tokens)
        case Empty():
            return await empty(state, outcome, params, deps, turn_tokens=turn_tokens)
        case Truncated():
            may_escalate = params.max_output_tokens_override is None
            searches = _max_searches(state, params)
            return truncated(state, outcome, deps, may_escalate=may_escalate, max_searches=searches)
        case Overflowed():
            may_compact = params.config.auto_compact
            return await overflowed(state, outcome, deps, params.max_turns, may_compact=may_compact)
        case MediaRejected():
            return await media_rejected(state, outcome, deps, params.max_turns)
        case Refused():
            return refused(state, outcome, deps)
        case Aborted():
            return aborted(state, outcome, deps, params.max_turns)
        case Failed():
            level = requests.next_repair(state) if _is_history_illegal(outcome) else None
            return failed(state, outcome, deps) if level is None else repaired(state, outcome, deps, level)
        case HookStopped():
            return hook_stopped(outcome, deps)
        case Blocked():
            return blocked(state, outcome, deps)
        case Exhausted():
            return exhausted(outcome)
        case _:
            assert_never(outcome)


def _said_again(state: State, outcome: UsedTools, params: QueryParams, deps: Deps) -> Step | None:
    """Calls that hit the output limit may fit the higher one; nothing of them ran."""
    if outcome.cut is None or params.max_output_tokens_override is not None:
        return None
    cut = msgspec.structs.replace(outcome.cut, records=outcome.records)
    return said_again(state, cut, deps, max_searches=_max_searches(state, params))


def _max_searches(state: State, params: QueryParams) -> int:
    """As in the request that was answered, which would go out again."""
    return MAX_SEARCHES if searches_web(params.settings, state.tool_use_context.model) else 0


def _is_history_illegal(outcome: Failed) -> bool:
    return outcome.error is not None and outcome.error.recover == "repair_history"

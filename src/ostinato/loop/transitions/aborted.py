"""The query was told to stop: every call has its result already; the model is told, unless a new message explains it.

A query whose time is over ends like one that was interrupted, and says what it is that ended it.
"""

from ostinato.loop import results
from ostinato.loop.deps import Deps
from ostinato.loop.transitions.exhausted import over_budget
from ostinato.loop.transitions.step import End, Step
from ostinato.messages import MaxTurnsReached, Message, attachment_message, meta_prompt
from ostinato.state import Aborted, State


def aborted(state: State, outcome: Aborted, deps: Deps, max_turns: int | None) -> Step:
    reason = state.tool_use_context.abort.reason
    is_in_tools = outcome.phase == "tools"
    added: list[Message] = []
    if reason != "interrupt":
        text = results.interruption(reason or "user", is_in_tools=is_in_tools)
        added.append(meta_prompt(deps.ids.uuid(), text, origin="interruption"))
    next_turn_count = state.turn_count + 1
    if is_in_tools and max_turns is not None and next_turn_count > max_turns:
        added.append(attachment_message(deps.ids.uuid(), MaxTurnsReached(max_turns, next_turn_count)))
    if reason == "timeout":
        return over_budget(deps.budget.out_of_time(), tuple(added))
    return End("aborted_tools" if is_in_tools else "aborted_streaming", tuple(added))

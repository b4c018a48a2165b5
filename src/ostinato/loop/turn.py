"""One turn: call the model, run the tools it asks for while it still speaks, and name how the turn ended."""

import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from ostinato.events import Denial, SystemEvent, Terminal, TerminalReason
from ostinato.loop.attempt import Attempts, Finished
from ostinato.loop.beside import Beside
from ostinato.loop.blocking import at_hard_limit
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.ledger import Ledger
from ostinato.loop.request import RequestBuilder
from ostinato.loop.transition_runs import TransitionRuns
from ostinato.loop.turn_tasks import TurnTask, TurnTasks
from ostinato.messages import NO_USAGE, Usage, notice_message
from ostinato.state import Aborted, Outcome, State


class QueryNotes(msgspec.Struct):
    """What a query gathers over its passes for its `Terminal`; the token target alone reads what it has used."""

    turn_count: int = 1
    transitions: TransitionRuns = msgspec.field(default_factory=TransitionRuns)
    denials: list[Denial] = msgspec.field(default_factory=list[Denial])
    usage: Usage = NO_USAGE
    consumed: list[str] = msgspec.field(default_factory=list[str])
    """Queued prompts that this query has taken up."""
    given_up: list[TurnTask] = msgspec.field(default_factory=list[TurnTask])
    """Calls that did not end although they were told to."""
    beside: Beside = msgspec.field(default_factory=Beside)

    def terminal(self, reason: TerminalReason, *, turn_count: int | None = None) -> Terminal:
        """The end, with everything gathered until now."""
        return Terminal(
            reason=reason,
            turn_count=self.turn_count if turn_count is None else turn_count,
            transitions=tuple(self.transitions),
            usage=self.usage,
            denials=tuple(self.denials),
        )


async def take_turn(
    group: TaskGroup,
    state: State,
    params: QueryParams,
    deps: Deps,
    ledger: Ledger,
    requests: RequestBuilder,
    notes: QueryNotes,
) -> tuple[Outcome, State]:
    """How the turn ended, and the state as it was: with another model, if one took over. Every call of the turn has exactly one
    result when this returns or raises; when it returns, no task of it is left in `group`.
    """
    blocked = at_hard_limit(state, params.config, deps, requests)
    if blocked is not None:
        return blocked, state
    outcome: Outcome = Aborted()
    after = state
    tasks = TurnTasks(group)
    attempts = Attempts(tasks, deps, state, params.config, ledger, requests, max_turns=params.max_turns)
    unsubscribe = state.tool_use_context.abort.on_abort(attempts.abort)
    try:
        began_s = deps.clock.monotonic_s()
        end = await attempts.call_model()
        from ostinato.loop.turn_outcome import outcome_of  # ruff: ignore[import-outside-top-level] - loads when a first call is over

        outcome = await outcome_of(end, attempts.reply, attempts.state, params, attempts.executor, deps)
        await attempts.executor.ended()  # a new message of the user lets some calls end by themselves
    finally:
        # synchronous on purpose: it also holds when the task itself is being cancelled
        unsubscribe()
        after = attempts.state
        notes.denials.extend(attempts.denials)
        notes.usage = notes.usage.plus(attempts.usage)
        attempts.cancel()
        attempts.executor.close_missing(attempts.reply.tool_use_blocks)
    await ledger.emit(*attempts.executor.get_completed_results())
    await tasks.ended()
    notes.given_up.extend(tasks.given_up)
    await _warn(deps, ledger)
    if isinstance(end, Finished):
        from ostinato.loop.cache_notice import tell_cache_break  # ruff: ignore[import-outside-top-level] - as above

        await tell_cache_break(attempts.reply, after, began_s, deps, ledger, requests)
    return replace(outcome, records=tuple(ledger.taken())), after


async def _warn(deps: Deps, ledger: Ledger) -> None:
    """Tell the user that most of a budget is used, while something can still be done about it."""
    warning = deps.budget.warning()
    if warning is not None:
        notice = notice_message(deps.ids.uuid(), "budget_warning", warning, level="warning")
        await ledger.record_then_emit((notice, SystemEvent(notice)))

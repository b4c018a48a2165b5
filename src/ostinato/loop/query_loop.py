"""The state machine: prepare the view, take a turn, match its outcome, make one named transition, again.

The loop holds no hidden state: all that a pass leaves to the next is in `State`. Every pass ends in a `Continued` with a
reason, or the query ends in one `Terminal` with a reason; both are written before they are shown.
"""

from collections.abc import Awaitable, Callable, Sequence

import anyio
import msgspec
from anyio.abc import TaskGroup

from ostinato.events import Terminal, Transition
from ostinato.history import History
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.ledger import Ledger
from ostinato.loop.preparation import prepared
from ostinato.loop.queued_prompts import queued_uuids, started
from ostinato.loop.request import RequestBuilder
from ostinato.loop.transitions.step import End, all_shown
from ostinato.loop.turn import QueryNotes, take_turn
from ostinato.messages import AssistantMessage
from ostinato.ports import Abort
from ostinato.records import Ended
from ostinato.state import Exhausted, Outcome, State, TokenTarget, initial_state
from ostinato.stop_hooks import StopFailed


class QueryEnd(msgspec.Struct, frozen=True):
    """How a query ended, and the conversation it leaves."""

    terminal: Terminal
    messages: History


Conclude = Callable[[QueryEnd], Awaitable[None]]
"""Shows the end of a query that cannot be returned from yet."""


async def query_loop(
    params: QueryParams, deps: Deps, ledger: Ledger, notes: QueryNotes, conclude: Conclude | None = None
) -> QueryEnd:
    """Run one query to its end. What happens is shown through the ledger; the `Terminal` is returned, not yet shown. Where a call
    that was given up still runs, `conclude` gets the end at once, and this returns once the call has ended.
    """
    context = params.tool_use_context
    state = initial_state(
        params.messages,
        context,
        max_output_tokens_override=params.max_output_tokens_override,
        token_target=_token_target(params, deps),
    )
    async with anyio.create_task_group() as group:
        notes.beside.open(group)
        end = await _passes(group, state, params, deps, ledger, notes)
        if conclude is not None and not all(task.is_over for task in notes.given_up):
            await conclude(end)
        return end
    raise AssertionError("a group of tasks swallows nothing: nobody cancels its scope")


async def _passes(
    group: TaskGroup, state: State, params: QueryParams, deps: Deps, ledger: Ledger, notes: QueryNotes
) -> QueryEnd:
    requests = RequestBuilder(params)
    await _announce(params.started_for, notes, ledger)
    while True:
        begun = await prepared(state, deps, ledger, requests, notes.beside)
        if isinstance(begun, End):
            return await _ended(begun, state, Exhausted(), deps, ledger, notes)
        state = begun
        outcome, state = await take_turn(group, state, params, deps, ledger, requests, notes)
        from ostinato.loop.next_step import next_step  # ruff: ignore[import-outside-top-level] - loads with the end of the first turn

        turn_tokens = notes.usage.output_tokens
        step = await next_step(state, outcome, params, deps, requests, turn_tokens=turn_tokens)
        ledger.edit(*step.edits)
        if isinstance(step, End):
            return await _ended(step, state, outcome, deps, ledger, notes)
        await ledger.record_then_emit(*all_shown(step.added))
        state = step.state
        await _announce(queued_uuids(step.added), notes, ledger)
        await ledger.record_then_emit((step.transition, Transition(step.transition)))
        notes.transitions.append(step.transition)
        notes.turn_count = state.turn_count
        ledger.taken()


async def _ended(
    step: End, state: State, outcome: Outcome, deps: Deps, ledger: Ledger, notes: QueryNotes
) -> QueryEnd:
    await notes.beside.stop()
    for edit in step.quiet_edits:
        ledger.record(edit)
    await ledger.record_then_emit(*all_shown(step.added))
    await _tell_failure(step, deps, state.tool_use_context.abort)
    changed = (*outcome.records, *step.edits, *step.quiet_edits, *step.added)
    return QueryEnd(_recorded_end(step, notes, ledger), state.messages.extend(changed))


def _token_target(params: QueryParams, deps: Deps) -> TokenTarget | None:
    """The target that the user gave this query; what a query starts for itself has none."""
    tokens = params.target_tokens
    if tokens is None or tokens <= 0 or not params.tool_use_context.source.is_main_thread:
        return None
    return TokenTarget(tokens, deps.clock.monotonic_s())


async def _tell_failure(end: End, deps: Deps, abort: Abort) -> None:
    """A query that ends with an error note is told to the failure hooks; an abort never waits for them."""
    errors = [one.text for one in end.added if isinstance(one, AssistantMessage) and one.is_error]
    if errors and deps.stop_failure_hooks:
        from ostinato.loop.stop_hooks import tell_failure_hooks  # ruff: ignore[import-outside-top-level] - few queries end like this

        failed = StopFailed(end.reason, end.why.message or errors[-1], end.why.kind)
        await unless_aborted(
            abort, lambda: tell_failure_hooks(deps.stop_failure_hooks, failed, deps.clock), otherwise=None
        )


async def _announce(uuids: Sequence[str], notes: QueryNotes, ledger: Ledger) -> None:
    """These queued prompts are part of the query from here on; how it ends says what became of them."""
    if not uuids:
        return
    notes.consumed.extend(uuids)
    await ledger.emit(*started(uuids))


def _recorded_end(step: End, notes: QueryNotes, ledger: Ledger) -> Terminal:
    terminal = msgspec.structs.replace(
        notes.terminal(step.reason, turn_count=step.turn_count),
        error=step.why.message,
        hint=step.why.hint,
        error_kind=step.why.kind,
        status=step.why.status,
    )
    ledger.record(Ended(terminal.reason, terminal.turn_count, terminal.error))
    return terminal

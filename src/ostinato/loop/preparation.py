"""What happens to the view before a call: the context pipeline's edits, each written before the model sees its effect, and the
window that the model has turned out to have. A conversation that fills up again at once, over and over, is ended.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ostinato.context_pass import Accounting, PassFacts
from ostinato.events import SystemEvent
from ostinato.hidden_records import without_hidden
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.beside import Beside
from ostinato.loop.compaction_notices import boundary_notice, failed_notice
from ostinato.loop.deps import Deps, PrepareContext
from ostinato.loop.ledger import Ledger
from ostinato.loop.request import RequestBuilder
from ostinato.loop.transitions.step import End, Why
from ostinato.messages import AssistantMessage
from ostinato.records import AnyEdit, Boundary
from ostinato.state import AutoCompactTracking, State
from ostinato.window_limits import auto_compact_tokens

REFILL_TURNS: Final = 3
"""A conversation that is full again within so many turns of its last compaction has filled up at once (semantics §24.9)."""

MAX_REFILLS: Final = 3
"""In a row; the next summary would be as short-lived."""

REFILLED = Why(
    "the conversation filled the model's window again within three turns of each of its last summaries",
    "something large comes back in every turn: ask for less at once, or start a new conversation",
    "rapid_refill_breaker",
)


async def prepared(
    state: State, deps: Deps, ledger: Ledger, requests: RequestBuilder, beside: Beside
) -> State | End:
    """The state that the pass begins with; the end where shortening it once more would not help. `beside` takes what may go on
    while the passes do.
    """
    state = _believing(state, deps)
    if deps.forgets_hidden and _has_just_been_reactive(state):
        state = replace(state, messages=without_hidden(state.messages))
    prepare = deps.prepare_context
    if prepare is None or not any(isinstance(message, AssistantMessage) for message in state.messages):
        return state
    used_tokens = requests.tokens(state)
    if _was_refused(state):  # whatever our own count says
        used_tokens = max(used_tokens, state.tool_use_context.model.context_window)
    is_refill = used_tokens >= auto_compact_tokens(state.tool_use_context.model) and _is_soon(state)
    if is_refill and state.bounds.refills + 1 >= MAX_REFILLS:
        return End("rapid_refill_breaker", why=REFILLED)
    facts = _facts(state, used_tokens, deps, ledger, requests, beside)
    return await _shortened(state, prepare, facts, deps, ledger)


async def _shortened(
    state: State,
    prepare: PrepareContext,
    facts: PassFacts,
    deps: Deps,
    ledger: Ledger,
) -> State:
    failures: list[str] = []
    facts = replace(facts, compact_failed=failures.append)
    abort = state.tool_use_context.abort
    edits = await unless_aborted(abort, lambda: prepare(state.messages, facts), otherwise=())
    ledger.edit(*edits)
    boundaries = [edit for edit in edits if isinstance(edit, Boundary)]
    told = [failed_notice(message, deps.ids, goes_on=not boundaries) for message in failures]
    told += [boundary_notice(boundary, deps.ids) for boundary in boundaries]
    await ledger.record_then_emit(*((notice, SystemEvent(notice)) for notice in told))
    written = ledger.taken()
    if not written:
        return state
    messages = state.messages.extend(written)
    if boundaries and deps.forgets_hidden:
        messages = without_hidden(messages)
    return _tracked(replace(state, messages=messages), edits, len(failures))


def _facts(
    state: State, used_tokens: int, deps: Deps, ledger: Ledger, requests: RequestBuilder, beside: Beside
) -> PassFacts:
    from ostinato.loop.summaries import Summaries  # ruff: ignore[import-outside-top-level] - only a conversation that has begun needs it

    tracking = state.auto_compact_tracking
    return PassFacts(
        state.tool_use_context.model,
        used_tokens,
        was_refused=_was_refused(state),
        source=state.tool_use_context.source,
        summarise=Summaries(state, deps, ledger, requests),
        compact_failures=tracking.consecutive_failures if tracking else 0,
        accounting=_accounting(state, deps, ledger, beside),
    )


def _accounting(state: State, deps: Deps, ledger: Ledger, beside: Beside) -> Accounting | None:
    if deps.side_model is None or deps.drain_collapsed is None:
        return None
    from ostinato.loop.accounting import accounting  # ruff: ignore[import-outside-top-level] - few conversations have it

    return accounting(state.tool_use_context, deps, deps.side_model, ledger, beside)


def _tracked(state: State, edits: Sequence[AnyEdit], failures: int) -> State:
    """What the next passes must know of a compaction that was made, or failed. An account made without a model forgives no
    failure of the model.
    """
    before = state.auto_compact_tracking
    failed = (before.consecutive_failures if before else 0) + failures
    boundary = next((edit for edit in edits if isinstance(edit, Boundary)), None)
    if boundary is not None:
        refills = state.bounds.refills + 1 if _is_soon(state) else 0
        left = 0 if boundary.trigger == "auto" else failed
        tracking = AutoCompactTracking(boundary.edit_id, consecutive_failures=left)
        return replace(state, auto_compact_tracking=tracking, bounds=replace(state.bounds, refills=refills))
    if not failures:
        return state
    known = before or AutoCompactTracking("", turn_counter=REFILL_TURNS + 1)
    return replace(state, auto_compact_tracking=replace(known, consecutive_failures=failed))


def _has_just_been_reactive(state: State) -> bool:
    return state.transition is not None and state.transition.reason == "reactive_compact_retry"


def _was_refused(state: State) -> bool:
    """Whether the request of this very state was too long for the model, and is yet to be made shorter."""
    return _has_just_been_reactive(state) and state.transition is not None and state.transition.committed == 0


def _is_soon(state: State) -> bool:
    tracking = state.auto_compact_tracking
    return tracking is not None and tracking.turn_counter <= REFILL_TURNS


def _believing(state: State, deps: Deps) -> State:
    context = state.tool_use_context
    facts = deps.fallbacks.windows.believed(context.model)
    if facts is context.model:
        return state
    return replace(state, tool_use_context=replace(context, model=facts))

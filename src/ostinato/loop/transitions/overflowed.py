"""A request that did not fit, or held media that the model refuses: shorten the view and send again, once until a round of
tools has passed. The error is withheld while that is tried, and released exactly once if it does not help.

What is staged for collapse is committed first, as it loses least; never twice in a row. Then the next pass begins with a summary, if
somebody prepares passes, else with an account without a model.
"""

from collections.abc import Sequence
from typing import Final

from ostinato.errors import ModelError
from ostinato.events import TerminalReason
from ostinato.history import History
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.compaction_notices import boundary_notice
from ostinato.loop.deps import Deps, Shorten
from ostinato.loop.transitions.aborted import aborted
from ostinato.loop.transitions.failed import released
from ostinato.loop.transitions.step import Next, Step
from ostinato.messages import SystemMessage, notice_message
from ostinato.records import AnyEdit, Boundary, Continued
from ostinato.state import Aborted, MediaRejected, Overflowed, State

RETRY: Final = "reactive_compact_retry"

SHORTENED = "The conversation did not fit into the model's window; its earlier part is now an account of it."
COLLAPSED = "The conversation did not fit into the model's window; accounts stand in place of parts that were finished."
STRIPPED = "The model refused an image or document; notes stand in their places now."


async def overflowed(
    state: State, outcome: Overflowed, deps: Deps, max_turns: int | None, *, may_compact: bool = True
) -> Step:
    context = state.tool_use_context
    messages = state.messages.extend(outcome.records)
    if context.source.name != "compact":
        folds = tuple(
            await unless_aborted(context.abort, lambda: _staged(state, messages, deps), otherwise=())
        )
        if context.abort.reason is not None:
            return aborted(state, Aborted(phase="streaming"), deps, max_turns)
        if folds:
            return _drained(state, messages, folds, deps)
    if not may_compact:
        return released("prompt_too_long", state, outcome.error, deps)
    return await _shortened(
        state, outcome, deps, max_turns, shorten=deps.shorten, reason="prompt_too_long", told=SHORTENED
    )


async def _staged(state: State, messages: History, deps: Deps) -> Sequence[AnyEdit]:
    has_just_drained = state.transition is not None and state.transition.reason == "collapse_drain_retry"
    if deps.drain_collapsed is None or has_just_drained:
        return ()
    return await deps.drain_collapsed(messages)


def _drained(state: State, messages: History, folds: tuple[AnyEdit, ...], deps: Deps) -> Next:
    notice = notice_message(deps.ids.uuid(), "context_collapse", COLLAPSED)
    transition = Continued("collapse_drain_retry", state.turn_count, committed=len(folds))
    following = State(
        messages=messages.extend(folds).append(notice),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
        has_attempted_reactive_compact=state.has_attempted_reactive_compact,
        max_output_tokens_override=state.max_output_tokens_override,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=state.turn_count,
        transition=transition,
        bounds=state.bounds,
    )
    return Next(following, transition, (notice,), folds)


def _notice(edits: Sequence[AnyEdit], text: str, deps: Deps) -> SystemMessage:
    """A boundary is told as clients of the field know it, with its sizes."""
    boundary = next((edit for edit in edits if isinstance(edit, Boundary)), None)
    if boundary is None:
        return notice_message(deps.ids.uuid(), "context_shortened", text)
    return boundary_notice(boundary, deps.ids, text)


async def media_rejected(state: State, outcome: MediaRejected, deps: Deps, max_turns: int | None) -> Step:
    return await _shortened(
        state, outcome, deps, max_turns, shorten=deps.strip_media, reason="image_error", told=STRIPPED
    )


async def _shortened(
    state: State,
    outcome: Overflowed | MediaRejected,
    deps: Deps,
    max_turns: int | None,
    *,
    shorten: Shorten,
    reason: TerminalReason,
    told: str,
) -> Step:
    context = state.tool_use_context
    messages = state.messages.extend(outcome.records)
    error: ModelError | None = outcome.error
    model = deps.fallbacks.windows.believed(context.model)
    if state.has_attempted_reactive_compact or context.source.name == "compact":
        return released(reason, state, error, deps)
    edits = tuple(await unless_aborted(context.abort, lambda: shorten(messages, error, model), otherwise=()))
    if context.abort.reason is not None:
        return aborted(state, Aborted(phase="streaming"), deps, max_turns)
    if not edits:
        return released(reason, state, error, deps)
    if reason == "prompt_too_long" and deps.prepare_context is not None:
        # It can be made shorter, so the next pass begins with a summary, or with these very edits where no model can write one.
        return _shorter(state, messages, (), (), Continued(RETRY, state.turn_count, committed=0))
    return _shorter(state, messages, edits, (_notice(edits, told, deps),), Continued(RETRY, state.turn_count))


def _shorter(
    state: State,
    messages: History,
    edits: tuple[AnyEdit, ...],
    notices: tuple[SystemMessage, ...],
    transition: Continued,
) -> Next:
    following = State(
        messages=messages.extend((*edits, *notices)),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
        has_attempted_reactive_compact=True,
        max_output_tokens_override=None,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=state.turn_count,
        transition=transition,
        bounds=state.bounds,
    )
    return Next(following, transition, notices, edits)

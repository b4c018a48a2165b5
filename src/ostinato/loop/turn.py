"""One turn: call the model, run the tools it asks for while it still speaks, and name how the turn ended."""

from functools import partial

import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.events import Denial, SystemEvent, Terminal, TerminalReason
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.attempt import AttemptEnd, Attempts, Broke, Finished, Interrupted, Unaffordable
from ostinato.loop.beside import Beside
from ostinato.loop.blocking import at_hard_limit
from ostinato.loop.cache_notice import tell_cache_break
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.executor import StreamingToolExecutor, run_tools
from ostinato.loop.ledger import Ledger
from ostinato.loop.reply import Reply
from ostinato.loop.request import RequestBuilder
from ostinato.loop.tool_hooks import NOTHING_SAID, ToolHooksSaid, ask_tool_hooks
from ostinato.loop.transition_runs import TransitionRuns
from ostinato.loop.turn_tasks import TurnTask, TurnTasks
from ostinato.messages import NO_USAGE, Usage, notice_message
from ostinato.model_window import overflowed_silently, prompt_tokens
from ostinato.ports import ModelFacts
from ostinato.state import (
    Aborted,
    Answered,
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

WINDOW_FULL = "model_context_window_exceeded"
OUTPUT_LIMIT_REASONS = frozenset({"max_tokens", WINDOW_FULL})

CUT_IN_SILENCE = "`{model}` said nothing to a prompt of {sent:,} tokens; its window is {window:,}"
CUT_IN_SILENCE_HINT = (
    "some servers cut what is too long and do not say so; shorten the prompt, or start a new conversation"
)


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
        outcome = await _finish(end, attempts.reply, attempts.state, params, attempts.executor, deps)
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
        await tell_cache_break(attempts.reply, after, began_s, deps, ledger, requests)
    return replace(outcome, records=tuple(ledger.taken())), after


async def _warn(deps: Deps, ledger: Ledger) -> None:
    """Tell the user that most of a budget is used, while something can still be done about it."""
    warning = deps.budget.warning()
    if warning is not None:
        notice = notice_message(deps.ids.uuid(), "budget_warning", warning, level="warning")
        await ledger.record_then_emit((notice, SystemEvent(notice)))


async def _finish(
    end: AttemptEnd,
    reply: Reply,
    state: State,
    params: QueryParams,
    executor: StreamingToolExecutor,
    deps: Deps,
) -> Outcome:
    """Wait for the tools if there are any, and choose the outcome; the abort check comes first (semantics §6.19)."""
    if isinstance(end, Unaffordable):
        return Exhausted(limit=end.spent.limit, message=end.spent.message, hint=end.spent.hint)
    aborted = state.tool_use_context.abort
    if isinstance(end, Interrupted) or (aborted.reason is not None and not reply.needs_follow_up):
        return Aborted(phase="streaming")
    refusal = _refusal(end, reply)
    if refusal is not None:
        executor.cancel("refusal")
        executor.close_missing(reply.tool_use_blocks, "refusal")
        return refusal
    if reply.needs_follow_up:
        await _run_calls(reply, params, executor)
        return await _after_tools(end, reply, state, params, executor, deps)
    if isinstance(end, Broke):
        return _broken(end.error)
    return _spoken(reply, end, deps.fallbacks.windows.believed(state.tool_use_context.model))


def _refusal(end: AttemptEnd, reply: Reply) -> Refused | None:
    """The model says so in its reply, or its provider instead of one, or in the middle of it."""
    if isinstance(end, Finished):
        return Refused() if reply.stop_reason == "refusal" else None
    return Refused(error=end.error) if isinstance(end, Broke) and end.error.kind == "refused" else None


async def _run_calls(reply: Reply, params: QueryParams, executor: StreamingToolExecutor) -> None:
    if params.config.streaming_tool_execution:
        await executor.get_remaining_results()
    else:
        await run_tools(executor, reply.tool_use_blocks, reply.assistant_messages)


async def _after_tools(
    end: Finished | Broke,
    reply: Reply,
    state: State,
    params: QueryParams,
    executor: StreamingToolExecutor,
    deps: Deps,
) -> Outcome:
    """Every call has its result; the hooks are heard, unless an abort came meanwhile."""
    said = await _hooks_said(state, params, executor, deps)
    if state.tool_use_context.abort.reason is not None:
        return Aborted(phase="tools")
    if said.stops:
        why = "; ".join(one.message.strip() for one in said.stops if one.message.strip())
        return HookStopped(message=why, added=said.added)
    if isinstance(end, Broke):
        return UsedTools(broken_by=end.error, added=said.added)
    return UsedTools(cut=_cut_calls(reply, end), added=said.added)


async def _hooks_said(
    state: State, params: QueryParams, executor: StreamingToolExecutor, deps: Deps
) -> ToolHooksSaid:
    """About the calls that ran to their end; nobody is asked after an abort."""
    abort = state.tool_use_context.abort
    if not deps.after_tool or abort.reason is not None:
        return NOTHING_SAID
    timeout_s = params.config.tool_hook_timeout_s
    ask = partial(ask_tool_hooks, deps.after_tool, executor.calls_that_ran(), deps.clock, deps.ids)
    return await unless_aborted(
        abort, lambda: ask(timeout_s=timeout_s, mask=deps.mask), otherwise=NOTHING_SAID
    )


def _cut_calls(reply: Reply, end: Finished) -> Truncated | None:
    """A reply that hit its limit in a call; some servers then give another stop reason."""
    if any(call.invalid_input is None for call in reply.tool_use_blocks):
        return None
    is_cut = reply.stop_reason in OUTPUT_LIMIT_REASONS or reply.usage.output_tokens >= end.max_output_tokens
    return _truncated(reply, end) if is_cut else None


def _truncated(reply: Reply, end: Finished) -> Truncated:
    return Truncated(
        max_output_tokens=end.max_output_tokens,
        is_shortened=end.is_shortened,
        is_window_full=reply.stop_reason == WINDOW_FULL,
    )


def _broken(error: ModelError) -> Outcome:
    if error.recover in {"compact", "shrink_output"}:
        return Overflowed(error=error)
    if error.recover == "strip_media":
        return MediaRejected(error=error)
    return Failed(error=error)


def _spoken(reply: Reply, end: Finished, facts: ModelFacts) -> Outcome:
    """A complete reply without calls. One that says nothing to a prompt beyond the window is no answer to that prompt."""
    said = reply.said
    is_silent = said is None or not said.text.strip()
    if is_silent and overflowed_silently(reply.usage, facts):
        return Overflowed(error=_cut_in_silence(reply.usage, facts))
    if reply.stop_reason in OUTPUT_LIMIT_REASONS and not _is_nothing(reply):
        return _truncated(reply, end)
    if reply.stop_reason == "pause_turn":
        return Paused(reply=said)
    if is_silent:
        return Empty(stop_reason=reply.stop_reason)
    return Answered(reply=said)


def _is_nothing(reply: Reply) -> bool:
    """Whether no limit can have cut the reply, whatever it says: it holds nothing, not even a thought, and used nothing (some
    servers count one token in advance).
    """
    return reply.said is None and reply.usage.output_tokens <= 1


def _cut_in_silence(usage: Usage, facts: ModelFacts) -> ModelError:
    sent = prompt_tokens(usage)
    text = CUT_IN_SILENCE.format(model=facts.id, sent=sent, window=facts.context_window)
    error = ModelError(text, kind="prompt_too_long", recover="compact", hint=CUT_IN_SILENCE_HINT)
    return error.sized(input_tokens=sent, limit_tokens=facts.context_window, output_limit_tokens=None)

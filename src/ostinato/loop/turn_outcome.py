"""What a turn comes to once its model call is over: the calls that still run are waited for, and the outcome is named.

Nothing of it is needed before a first reply is there: the turn loads it then.
"""

from functools import partial

from ostinato.errors import ModelError
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.attempt import AttemptEnd, Broke, Finished, Interrupted, Unaffordable
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.executor import StreamingToolExecutor, run_tools
from ostinato.loop.reply import Reply
from ostinato.loop.tool_hooks import NOTHING_SAID, ToolHooksSaid, ask_tool_hooks
from ostinato.messages import Usage
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


async def outcome_of(
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

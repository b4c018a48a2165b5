"""A reply that asks for nothing: stop hooks are asked, then the token target; if neither wants more, the query is done."""

from msgspec.structs import replace

from ostinato.loop.abortable import unless_aborted
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.stop_hooks import NOTHING_SAID, HooksSaid, ask_stop_hooks
from ostinato.loop.token_budget import Enough, KeepWorking, decide
from ostinato.loop.transitions.aborted import aborted
from ostinato.loop.transitions.step import End, Next, Step
from ostinato.messages import Message, SystemMessage, meta_prompt, notice_message
from ostinato.records import Continued
from ostinato.state import Aborted, Answered, State
from ostinato.stop_hooks import Stopping

HOOK_CAP = (
    "Stop hooks sent the model back {count} times in this query; it ends now although they still want more."
)


async def answered(
    state: State,
    outcome: Answered,
    params: QueryParams,
    deps: Deps,
    *,
    turn_tokens: int,
    told: tuple[Message, ...] = (),
) -> Step:
    """`turn_tokens`: output tokens of this query; `told` is what the user is to know of the reply. The hooks come first: their
    wish is about the task, the target's about effort.
    """
    said = await _asked(state, outcome, params, deps)
    if state.tool_use_context.abort.reason is not None:
        return aborted(state, Aborted(phase="streaming"), deps, params.max_turns)
    notices = (*told, *(_notice(deps, "stop_hook_error", text) for text in said.troubles))
    if said.prevents:
        why = "; ".join(one.message.strip() for one in said.prevents if one.message.strip())
        text = f"A stop hook ended the query: {why}" if why else "A stop hook ended the query."
        return End("stop_hook_prevented", (*notices, _notice(deps, "stop_hook_prevented", text)))
    if said.blocks and state.bounds.stop_hook_blocks < params.config.max_stop_hook_blocks:
        return _blocked(state, outcome, said, deps, notices)
    text = HOOK_CAP.format(count=state.bounds.stop_hook_blocks)
    at_end = (_notice(deps, "stop_hook_cap", text),) if said.blocks else ()
    return _measured(state, outcome, deps, notices, at_end, turn_tokens)


async def _asked(state: State, outcome: Answered, params: QueryParams, deps: Deps) -> HooksSaid:
    if not deps.stop_hooks:
        return NOTHING_SAID
    stopping = Stopping(
        messages=tuple(state.messages.extend(outcome.records).view()),
        answer=outcome.reply.text if outcome.reply else "",
        stop_hook_active=state.stop_hook_active,
        blocks=state.bounds.stop_hook_blocks,
        max_blocks=params.config.max_stop_hook_blocks,
    )
    return await unless_aborted(
        state.tool_use_context.abort,
        lambda: ask_stop_hooks(
            deps.stop_hooks, stopping, deps.clock, params.config.stop_hook_timeout_s, mask=deps.mask
        ),
        otherwise=NOTHING_SAID,
    )


def _notice(deps: Deps, subtype: str, text: str) -> SystemMessage:
    return notice_message(deps.ids.uuid(), subtype, text, level="warning")


def _blocked(
    state: State, outcome: Answered, said: HooksSaid, deps: Deps, notices: tuple[Message, ...]
) -> Next:
    """The model reads what the hooks miss. A recovery that was used up stays so: a hook that blocks an answer which a compaction
    made possible must not start the compaction again.
    """
    told = tuple(meta_prompt(deps.ids.uuid(), one.message, origin="hook") for one in said.blocks)
    blocks = state.bounds.stop_hook_blocks + 1
    transition = Continued("stop_hook_blocking", state.turn_count, attempt=blocks)
    added = (*notices, *told)
    following = State(
        messages=state.messages.extend(outcome.records).extend(added),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=0,
        has_attempted_reactive_compact=state.has_attempted_reactive_compact,
        max_output_tokens_override=None,
        pending_tool_use_summary=None,
        stop_hook_active=True,
        turn_count=state.turn_count,
        transition=transition,
        bounds=replace(state.bounds, stop_hook_blocks=blocks),
    )
    return Next(following, transition, added)


def _measured(
    state: State,
    outcome: Answered,
    deps: Deps,
    notices: tuple[Message, ...],
    at_end: tuple[Message, ...],
    turn_tokens: int,
) -> Step:
    target = state.bounds.token_target
    if target is None:
        return End("completed", (*notices, *at_end))
    match decide(target, state.bounds.nudges, turn_tokens, deps.clock.monotonic_s()):
        case KeepWorking() as more:
            return _nudged(state, outcome, more, deps, notices)
        case Enough() as enough:
            return End("completed", (*notices, *at_end, *_told(enough, deps)))


def _told(enough: Enough, deps: Deps) -> tuple[Message, ...]:
    if not enough.is_told:
        return ()
    data = {
        "continuation_count": enough.nudges,
        "percent": enough.percent,
        "turn_tokens": enough.turn_tokens,
        "budget": enough.target_tokens,
        "diminishing_returns": enough.diminishing_returns,
        "duration_ms": enough.duration_ms,
    }
    return (notice_message(deps.ids.uuid(), "token_budget_completed", enough.text, data=data),)


def _nudged(
    state: State, outcome: Answered, more: KeepWorking, deps: Deps, notices: tuple[Message, ...]
) -> Next:
    """The recoveries start anew, as after tools. The blocks of the hooks are counted on: a hook that never lets a stop pass would
    else have all of them again after each nudge.
    """
    nudge = meta_prompt(deps.ids.uuid(), more.nudge, origin="recovery")
    nudges = state.bounds.nudges + 1
    transition = Continued("token_budget_continuation", state.turn_count, attempt=nudges)
    added = (*notices, nudge)
    following = State(
        messages=state.messages.extend(outcome.records).extend(added),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=0,
        has_attempted_reactive_compact=False,
        max_output_tokens_override=None,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=state.turn_count,
        transition=transition,
        bounds=replace(state.bounds, nudges=nudges, token_target=more.target),
    )
    return Next(following, transition, added)

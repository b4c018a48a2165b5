"""The loop's memory between passes, how a pass can end, and why a query goes on or stops. All of it is frozen."""

from typing import Literal

import msgspec

from ostinato.deferred_tools import NOTHING_DEFERRED, DeferredTools
from ostinato.errors import ModelError
from ostinato.history import History
from ostinato.messages import AssistantMessage, Message
from ostinato.ports import (
    NO_THINKING,
    Abort,
    FileState,
    ModelFacts,
    QuerySource,
    QueryTracking,
    Thinking,
    Workspace,
)
from ostinato.records import Continued, Record
from ostinato.repetition import DEFAULT_LIMITS, NO_REPEATS, GuardLimits, GuardMode, Repeats
from ostinato.tool import Tool

ContinueReason = Literal[
    "next_turn",
    "max_output_tokens_escalate",
    "max_output_tokens_recovery",
    "reactive_compact_retry",
    "collapse_drain_retry",
    "stop_hook_blocking",
    "token_budget_continuation",
    "pause_turn_resume",
    "empty_response_retry",
    "history_repair_retry",
]
"""Every way a query can go on; a closed set."""


class QueryConfig(msgspec.Struct, frozen=True):
    """Settings that two points of one query read: taken once at entry, so that nothing flips in between.

    `streaming_tool_execution`: start a call when its block completes; otherwise after the reply, by `run_tools`.
    `sequential_tools`: one call at a time. `max_tool_concurrency`: 10, the field's cap (semantics §15).
    `max_retries`: of one failing model call, beside its first try: ten attempts in all (semantics §13.1).
    `tool_timeout_s`: of one call, for tools that name no time of their own. `abort_siblings`: a call that fails, and is not one that
    only reads, ends the others of its reply.
    `is_unattended`: nobody sees an error or can try again, so overload and rate limits are waited out, with signs of life.
    `max_stop_hook_blocks`: in one query; 8 is the field's cap. `stop_hook_timeout_s`: 600, the field's deadline of a hook (§19).
    `tool_hook_timeout_s`: the same for all tool hooks of one reply together.
    `auto_compact`: the conversation is shortened by itself when it does not fit; off, a query ends before it would not
    (`blocking_limit`). `snip`, `microcompact`, `collapse`: gates of these stages (docs/context.md says why `collapse` is off: finished
    parts of the conversation give way to short accounts).
    `snip_tool`: the model itself may ask for old rounds to be hidden.
    `loop_guard`, `guard_limits`: what happens when the model goes round in circles, and from where on (docs/loop-guards.md).
    `normalise_strictly`: raise on an illegal history where a release build repairs.
    """

    streaming_tool_execution: bool = True
    sequential_tools: bool = False
    max_tool_concurrency: int = 10
    max_retries: int = 9
    tool_timeout_s: float = 1_800.0
    abort_siblings: bool = False
    is_unattended: bool = False
    max_stop_hook_blocks: int = 8
    stop_hook_timeout_s: float = 600.0
    tool_hook_timeout_s: float = 600.0
    auto_compact: bool = True
    snip: bool = True
    microcompact: bool = True
    collapse: bool = False
    snip_tool: bool = False
    loop_guard: GuardMode = "stop"
    guard_limits: GuardLimits = DEFAULT_LIMITS
    normalise_strictly: bool = False


DEFAULT_CONFIG = QueryConfig()


class ToolUseContext(msgspec.Struct, frozen=True):
    """What model calls and tools of a query share. All `tools` can be called; `deferred` says which are not sent."""

    tools: tuple[Tool, ...]
    model: ModelFacts
    workspace: Workspace
    files: FileState
    abort: Abort
    source: QuerySource
    tracking: QueryTracking
    thinking: Thinking = NO_THINKING
    deferred: DeferredTools = NOTHING_DEFERRED


class AutoCompactTracking(msgspec.Struct, frozen=True):
    """Bookkeeping of automatic compaction; `turn_counter` counts turns since the last one."""

    turn_id: str
    turn_counter: int = 0
    consecutive_failures: int = 0


class TokenTarget(msgspec.Struct, frozen=True):
    """So many output tokens the user wants spent on the query (`+500k`), and what the last nudge found. `started_s` is monotonic."""

    tokens: int
    started_s: float = 0.0
    last_gained_tokens: int = 0
    last_turn_tokens: int = 0


class Failing(msgspec.Struct, frozen=True):
    """What the model in use has failed at in a row: calls in all, and among them overloads, replies that broke off, garbled ones.
    From one pass to the next it counts on where the reply broke off and was kept.
    """

    calls: int = 0
    overloads: int = 0
    cuts: int = 0
    malformed: int = 0


NO_FAILURES = Failing()


class Bounds(msgspec.Struct, frozen=True):
    """How often each bounded thing has happened in this query; `repairs` is the level at which its requests are repaired.
    `incomplete` counts replies in a row that broke off and were kept, `failing` is what the model failed at in them.
    """

    stop_hook_blocks: int = 0
    nudges: int = 0
    pauses: int = 0
    empties: int = 0
    repairs: int = 0
    fallback_index: int = 0
    refills: int = 0
    malformed_calls: int = 0
    incomplete: int = 0
    failing: Failing = NO_FAILURES
    token_target: TokenTarget | None = None
    repeats: Repeats = NO_REPEATS


class State(msgspec.Struct, frozen=True):
    """What one pass leaves to the next. Replaced as a whole by a transition, never edited."""

    messages: History
    tool_use_context: ToolUseContext
    auto_compact_tracking: AutoCompactTracking | None
    max_output_tokens_recovery_count: int
    has_attempted_reactive_compact: bool
    max_output_tokens_override: int | None
    pending_tool_use_summary: str | None
    stop_hook_active: bool
    turn_count: int
    transition: Continued | None
    bounds: Bounds


def initial_state(
    messages: History,
    context: ToolUseContext,
    *,
    max_output_tokens_override: int | None = None,
    token_target: TokenTarget | None = None,
) -> State:
    """The State before the first pass: counters at zero, turn 1, no transition."""
    return State(
        messages=messages,
        tool_use_context=context,
        auto_compact_tracking=None,
        max_output_tokens_recovery_count=0,
        has_attempted_reactive_compact=False,
        max_output_tokens_override=max_output_tokens_override,
        pending_tool_use_summary=None,
        stop_hook_active=False,
        turn_count=1,
        transition=None,
        bounds=Bounds(token_target=token_target),
    )


# ------------------------------------------------------------------------------------------------ outcomes of a pass


class Recorded(msgspec.Struct, frozen=True):
    """What a pass wrote to the journal for the history, in order: fragments, results, edits, facts."""

    records: tuple[Record, ...] = ()


class Truncated(Recorded, frozen=True):
    """The reply hit its output limit, which was this many tokens. `is_shortened`: less than wanted, for want of money or of room in
    the window. `is_window_full`: it was the window's limit, and no output limit of ours.
    """

    max_output_tokens: int = 0
    is_shortened: bool = False
    is_window_full: bool = False


class UsedTools(Recorded, frozen=True):
    """Calls ran, each with one result. `broken_by`: the reply broke off after the completed blocks. `cut`: it hit its output limit
    in the middle of its calls, and none of them could be read. `added`: what tool hooks said of the calls.
    """

    broken_by: ModelError | None = None
    cut: Truncated | None = None
    added: tuple[Message, ...] = ()


class Answered(Recorded, frozen=True):
    """A reply without calls."""

    reply: AssistantMessage | None = None


class Overflowed(Recorded, frozen=True):
    """The request did not fit the window; `error` is withheld until recovery has failed."""

    error: ModelError | None = None


class MediaRejected(Recorded, frozen=True):
    """An image or document was too large; `error` is withheld until recovery has failed."""

    error: ModelError | None = None


class Paused(Recorded, frozen=True):
    """The provider wants the reply sent back unchanged to go on; `reply` is what it said so far, None for nothing."""

    reply: AssistantMessage | None = None


class Empty(Recorded, frozen=True):
    """The reply held nothing a reader could use; `stop_reason` says whether the model meant that."""

    stop_reason: str = ""


class Refused(Recorded, frozen=True):
    """The model would not answer, or its provider did not let it (`error`); no call of that reply runs."""

    error: ModelError | None = None


class Aborted(Recorded, frozen=True):
    """The query was told to stop; every open call has its synthetic result."""

    phase: Literal["streaming", "tools"] = "streaming"


class HookStopped(Recorded, frozen=True):
    """A hook in the tool phase stopped the continuation; `message` says why. `added` is what the hooks said besides."""

    message: str = ""
    added: tuple[Message, ...] = ()


class Blocked(Recorded, frozen=True):
    """The hard token limit is reached and automatic compaction is off; no call was made."""

    tokens: int = 0
    limit_tokens: int = 0


class Exhausted(Recorded, frozen=True):
    """The budget left no room for the model call, so it was not made."""

    limit: Literal["usd", "tokens", "time"] = "usd"
    message: str = ""
    hint: str = ""


class Failed(Recorded, frozen=True):
    """The model call failed for good."""

    error: ModelError | None = None


Outcome = (
    UsedTools
    | Answered
    | Truncated
    | Overflowed
    | MediaRejected
    | Paused
    | Empty
    | Refused
    | Aborted
    | HookStopped
    | Blocked
    | Exhausted
    | Failed
)


class ModelSettings(msgspec.Struct, frozen=True):
    """How to call the model of a query: prompt parts, the user context prepended at call time, sampling. `own_system_blocks`: see
    `ModelRequest`.
    """

    system: tuple[str, ...]
    user_context: str = ""
    temperature: float | None = None
    searches_web: bool = False
    own_system_blocks: int = 0

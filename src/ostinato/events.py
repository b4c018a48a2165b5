"""What a query tells its consumer, in order; the last item is always one `Terminal`. An engine adds one `Result` after it.

Names are the field's (`stream_event`, `request_start`, `tombstone`, …). Deltas come as the model sends them; complete
messages come when they are written to the journal. Progress is lossy and never stored.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from ostinato.messages import (
    NO_USAGE,
    AssistantBlock,
    AssistantMessage,
    AttachmentMessage,
    SystemMessage,
    Usage,
    UserMessage,
)
from ostinato.records import Continued


class ModelEvent(msgspec.Struct, frozen=True, gc=False, tag_field="type", omit_defaults=True):
    """One event of a model's reply, in ostinato's own form; adapters produce them, any wire alike."""


class MessageStart(ModelEvent, frozen=True, tag="message_start"):
    response_id: str
    model: str
    usage: Usage = NO_USAGE


class BlockStart(ModelEvent, frozen=True, tag="content_block_start"):
    """`tool_use_id` and `name` are set when `block_type` is `tool_use`."""

    index: int
    block_type: Literal["text", "thinking", "redacted_thinking", "tool_use", "server_block"]
    tool_use_id: str = ""
    name: str = ""


class TextDelta(ModelEvent, frozen=True, tag="text_delta"):
    index: int
    text: str


class ThinkingDelta(ModelEvent, frozen=True, tag="thinking_delta"):
    index: int
    thinking: str


class InputJsonDelta(ModelEvent, frozen=True, tag="input_json_delta"):
    index: int
    partial_json: str


class BlockStop(ModelEvent, frozen=True, tag="content_block_stop"):
    """The block is complete; only now may a tool run from it."""

    index: int
    block: AssistantBlock


class MessageStop(ModelEvent, frozen=True, tag="message_stop"):
    """The reply is complete. `usage` is the whole response's; `stop_reason` is in Anthropic's words
    (`end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn`, `refusal`,
    `model_context_window_exceeded`), mapped by the adapter; `raw_stop_reason` is the provider's own.
    """

    stop_reason: str
    usage: Usage
    raw_stop_reason: str = ""


AnyModelEvent = (
    MessageStart | BlockStart | TextDelta | ThinkingDelta | InputJsonDelta | BlockStop | MessageStop
)


class QueryEvent(msgspec.Struct, frozen=True, gc=False, tag_field="kind", omit_defaults=True):
    """One item of `ostinato.query()`."""


class RequestStart(QueryEvent, frozen=True, tag="request_start"):
    """A model request begins."""

    model: str
    turn_count: int


class StreamEvent(QueryEvent, frozen=True, tag="stream_event"):
    """A part of the reply as it arrives."""

    event: AnyModelEvent


class AssistantEvent(QueryEvent, frozen=True, tag="assistant"):
    """A completed block of a reply."""

    message: AssistantMessage


class UserEvent(QueryEvent, frozen=True, tag="user"):
    """A tool result, or a message that the engine put in."""

    message: UserMessage


class AttachmentEvent(QueryEvent, frozen=True, tag="attachment"):
    message: AttachmentMessage


class SystemEvent(QueryEvent, frozen=True, tag="system"):
    message: SystemMessage


class ProgressEvent(QueryEvent, frozen=True):
    """What a tool does right now; lossy, never stored."""

    tool_use_id: str
    name: str


class ToolStart(ProgressEvent, frozen=True, tag="tool_start"):
    input: Mapping[str, Any]


class ToolOutput(ProgressEvent, frozen=True, tag="tool_output"):
    text: str


class ToolEnd(ProgressEvent, frozen=True, tag="tool_end"):
    outcome: Literal["ok", "error", "denied", "cancelled", "timed_out", "outcome_unknown"]
    duration_ms: int = 0


class Tombstone(QueryEvent, frozen=True, tag="tombstone"):
    """The message that was shown is gone: remove it from screen, store and transcript."""

    uuid: str


class ToolUseSummary(QueryEvent, frozen=True, tag="tool_use_summary"):
    summary: str
    preceding_tool_use_ids: tuple[str, ...]


class Transition(QueryEvent, frozen=True, tag="transition"):
    """A pass ended and the query goes on."""

    transition: Continued


class PermissionRequest(QueryEvent, frozen=True, tag="permission_request"):
    """Somebody must say yes or no before the call runs."""

    tool_use_id: str
    tool_name: str
    input: Mapping[str, Any]
    reason: str
    suggestions: tuple[str, ...] = ()


class ResponseUsage(QueryEvent, frozen=True, tag="response_ended"):
    """What the response cost and why it stopped."""

    response_id: str
    model: str
    usage: Usage
    stop_reason: str


class SideUsage(QueryEvent, frozen=True, tag="side_usage"):
    """What a question beside the conversation cost; `source` says what it was for (`compact`: a summary)."""

    source: str
    model: str
    usage: Usage


class CommandLifecycle(QueryEvent, frozen=True, tag="command_lifecycle"):
    """What became of a queued prompt: the query took it up, or ended normally after it did. A prompt that was started and
    not completed (the query threw, or was left) may be sent again.
    """

    uuid: str
    state: Literal["started", "completed"]


class Denial(msgspec.Struct, frozen=True):
    """A call that was not allowed to run."""

    tool_name: str
    tool_use_id: str
    tool_input: Mapping[str, Any]
    reason: str


TerminalReason = Literal[
    "completed",
    "aborted_streaming",
    "aborted_tools",
    "max_turns",
    "prompt_too_long",
    "model_error",
    "hook_stopped",
    "stop_hook_prevented",
    "blocking_limit",
    "refused",
    "image_error",
    "budget_exhausted",
    "rapid_refill_breaker",
    "malformed_tool_use_exhausted",
    "no_progress",
    "structured_output_retry_exhausted",
    "tool_deferred",
]
"""Every way a query can end; a closed set."""

LIMITS_REACHED: Final[frozenset[TerminalReason | None]] = frozenset({"max_turns", "budget_exhausted"})
"""The user's own limit ended the work: what was said by then is all there will be, and worth having."""


class Terminal(QueryEvent, frozen=True, tag="terminal"):
    """The end of a query. `usage` is the sum over its own responses, as far as it is known; those that broke off, were taken back or
    came from a fallback model count, summaries and other questions beside the conversation do not (`Result.tree_usage`).
    `transitions` are the passes before it.
    """

    reason: TerminalReason
    turn_count: int
    transitions: tuple[Continued, ...] = ()
    usage: Usage = NO_USAGE
    denials: tuple[Denial, ...] = ()
    error: str = ""
    hint: str = ""
    error_kind: str = ""
    status: int | None = None


ResultSubtype = Literal[
    "success",
    "error_max_turns",
    "error_max_budget_usd",
    "error_during_execution",
    "error_max_structured_output_retries",
]
"""How a submission ended, in the words that clients of the field know; a closed set."""


class ModelCost(msgspec.Struct, frozen=True):
    """What one model was used for. `cost_usd` None: its prices are not known. Sizes in tokens; 0 where not known."""

    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    context_window: int = 0
    max_output_tokens: int = 0


class Result(QueryEvent, frozen=True, tag="result"):
    """What one submission came to: the last item of `QueryEngine.submit_message`, exactly once.

    `text` is the last reply's, or a local command's. `usage` is the main loop's, as in `Terminal`; `tree_usage` and `costs` (by model;
    they add up to it) hold everything that was spent for it: summaries too, those that a command asked for included, and the small
    model. `total_cost_usd` sums what has known prices; `cost_is_known` says whether that is all.
    `turn_count` counts the turns that were taken: a first reply and one more for each round of calls that got its results, whether
    they ran, failed, or were refused or denied to the last; what a reply was repaired, retried or continued with is no turn of its
    own. So it is never above `max_turns`, and 0 where no model was asked. `terminal_reason` is None when no
    query ran. `errors` is empty on success.
    `joined` is the uuid of the result whose query took this text up while it ran: that one holds all numbers, this one none.
    `ends_conversation`: the text asked the host to leave.
    `context_left_percent`: what is left until the conversation is summarised by itself, once that is near; None before, and
    where nothing summarises it or the model's replies told no numbers.
    """

    subtype: ResultSubtype
    session_id: str
    uuid: str
    text: str = ""
    usage: Usage = NO_USAGE
    tree_usage: Usage = NO_USAGE
    costs: Mapping[str, ModelCost] = msgspec.field(default_factory=dict[str, ModelCost])
    total_cost_usd: float = 0.0
    cost_is_known: bool = True
    duration_ms: int = 0
    duration_api_ms: int = 0
    turn_count: int = 0
    stop_reason: str | None = None
    transitions: tuple[Continued, ...] = ()
    denials: tuple[Denial, ...] = ()
    terminal_reason: TerminalReason | None = None
    errors: tuple[str, ...] = ()
    hint: str = ""
    error_kind: str = ""
    status: int | None = None
    joined: str = ""
    ends_conversation: bool = False
    context_left_percent: int | None = None

    @property
    def is_error(self) -> bool:
        return self.subtype != "success"


Event = (
    RequestStart
    | StreamEvent
    | AssistantEvent
    | UserEvent
    | AttachmentEvent
    | SystemEvent
    | ToolStart
    | ToolOutput
    | ToolEnd
    | Tombstone
    | ToolUseSummary
    | Transition
    | PermissionRequest
    | ResponseUsage
    | SideUsage
    | CommandLifecycle
    | Terminal
    | Result
)

"""What a session is made of: an append-only log of messages, edits and facts.

An edit shortens or repairs what the model sees without touching what was said; a fact says what happened. The view is a
pure projection of the log (`history.py`), so a session can be resumed, inspected and undone.
"""

from typing import Any, Literal

import msgspec

from ostinato.messages import NO_USAGE, KnownFile, Message, Usage, UserMessage

QueuePriority = Literal["now", "next", "later"]
"""When a queued prompt is wanted: at once (it interrupts), after the tools that run, or when the query is over."""

PromptMode = Literal["prompt", "command", "shell"]
"""What a queued text is: words for the model, a slash command, or a shell line. Only words join a running query."""

ReplacedHow = Literal["", "stored", "repeated", "cleared", "cut"]
"""What a result gave way to: its beginning and the file that holds all of it, the name of the call that said the same before, the
name of its own call, its own beginning. Empty: the record is older than this field.
"""


class Edit(msgspec.Struct, frozen=True, gc=False, tag_field="kind", omit_defaults=True):
    """A change of the view. `edit_id` is unique in its session; `Undo` names it."""

    edit_id: str


class ReplaceResult(Edit, frozen=True, tag="replace_result"):
    """From now on the result of `tool_use_id` is exactly this text; `stored_as` is where the whole result lies."""

    tool_use_id: str
    text: str
    stored_as: str = ""
    how: ReplacedHow = ""


class Carried(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What every summary after this one must still hold: the prompt that began it all, the user's own words (oldest first), and
    which files were changed and read (oldest first).
    """

    first_prompt: str = ""
    words: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()


NOTHING_CARRIED = Carried()


class Snip(Edit, frozen=True, tag="snip"):
    """The messages from `first` to `last` (uuids, both included) are hidden behind one `marker`. `is_asked`: by the model itself.
    `carried`: what they held that no later summary may lose.
    """

    first: str
    last: str
    marker: UserMessage
    is_asked: bool = False
    carried: Carried = NOTHING_CARRIED


class Fold(Edit, frozen=True, tag="fold"):
    """The messages from `first` to `last` are one summary element. `carried`: what they held that no later summary may lose."""

    first: str
    last: str
    summary: UserMessage
    carried: Carried = NOTHING_CARRIED


class Boundary(Edit, frozen=True, tag="boundary"):
    """Everything before is the summary; the tail from `kept_from` (a uuid, or empty for no tail) stays.

    `restored` follows the tail: files, plans, tasks that the model should still know. `carried` goes from summary to summary.
    """

    summary: UserMessage
    kept_from: str = ""
    restored: tuple[Message, ...] = ()
    trigger: Literal["auto", "manual", "reactive"] = "auto"
    pre_tokens: int = 0
    carried: Carried = NOTHING_CARRIED


class StripMedia(Edit, frozen=True, tag="strip_media"):
    """A text note stands in for the block at index `block` of the message, or for the image that is attached by it."""

    message: str
    block: int
    note: str


class Retract(Edit, frozen=True, tag="retract"):
    """The messages, or the blocks that these fragments brought, are gone: tombstones and rewind."""

    ids: tuple[str, ...]


class Undo(Edit, frozen=True, tag="undo"):
    """The edit `target` has no effect."""

    target: str


AnyEdit = ReplaceResult | Snip | Fold | Boundary | StripMedia | Retract | Undo


class Fact(msgspec.Struct, frozen=True, gc=False, tag_field="kind", omit_defaults=True):
    """Something that happened; it never changes the view."""


class SessionStarted(Fact, frozen=True, tag="session_started"):
    session_id: str
    cwd: str
    model: str
    version: str


class ResponseEnded(Fact, frozen=True, tag="response_ended"):
    """The end of a response: what it cost and why it stopped (the provider's word, `stop_reason`)."""

    response_id: str
    model: str
    usage: Usage
    stop_reason: str


class Attempt(Fact, frozen=True, tag="attempt"):
    """One model request and what became of it; `outcome` is `ok`, or the kind of its error. `usage` is what is known of a reply
    that broke off; that of a complete one stands in its `ResponseEnded`. `source` names who asked, where it was not the query
    itself but something beside it (a summary): then the usage stands here in each case.
    """

    model: str
    outcome: str
    status: int | None = None
    request_id: str = ""
    message: str = ""
    usage: Usage = NO_USAGE
    source: str = ""


class ToolStarted(Fact, frozen=True, tag="tool_started"):
    """Written before the effect. A started call without a result has an unknown outcome after a crash."""

    tool_use_id: str
    name: str
    is_read_only: bool
    input: Any = None


class FileIntended(Fact, frozen=True, tag="file_intended"):
    """Written just before a started call replaces a file: SHA-256 of its bytes before (empty: no file) and after.

    After a crash the file's own bytes then tell whether the change was made.
    """

    tool_use_id: str
    path: str
    before: str
    after: str


class ToolFinished(Fact, frozen=True, tag="tool_finished"):
    """How the call ended; its result is the message record before. `knows`: the files that it read or wrote, for a resume."""

    tool_use_id: str
    outcome: Literal["ok", "error", "denied", "cancelled", "timed_out", "outcome_unknown"]
    duration_ms: int = 0
    knows: tuple[KnownFile, ...] = ()


class PermissionDecided(Fact, frozen=True, tag="permission_decided"):
    """`wanted` is what was to be done where no call of the model says so: a shell line of the user's, at most its beginning."""

    tool_use_id: str
    tool_name: str
    behaviour: Literal["allow", "deny"]
    rule: str
    source: str
    wanted: str = ""


class Aborted(Fact, frozen=True, tag="aborted"):
    reason: str


class SettingChanged(Fact, frozen=True, tag="setting_changed"):
    """From here on this is another one: for the model with the next query, for the permission mode with the next decision."""

    name: Literal["model", "permission_mode"]
    value: str


class QueueArrived(Fact, frozen=True, tag="queue_arrived"):
    """Something was typed while work went on, and waits. A later message with the uuid `prompt_uuid` is this very text:
    it was sent; so a crash between the two neither loses nor repeats it.
    """

    prompt_uuid: str
    text: str
    priority: QueuePriority = "next"
    mode: PromptMode = "prompt"


class QueueTaken(Fact, frozen=True, tag="queue_taken"):
    """These left the queue without becoming a message: given back to be edited, carried out as a command or shell line, or moved
    into another session.
    """

    prompt_uuids: tuple[str, ...]
    how: Literal["taken_back", "carried_out", "moved"]


class Continued(Fact, frozen=True, tag="continued"):
    """A pass ended and the query goes on; `reason` is a `ContinueReason`."""

    reason: str
    turn_count: int
    attempt: int | None = None
    committed: int | None = None


class Ended(Fact, frozen=True, tag="ended"):
    """The query ended; `reason` is a `TerminalReason`."""

    reason: str
    turn_count: int
    message: str = ""


AnyFact = (
    SessionStarted
    | ResponseEnded
    | Attempt
    | ToolStarted
    | FileIntended
    | ToolFinished
    | PermissionDecided
    | Aborted
    | SettingChanged
    | QueueArrived
    | QueueTaken
    | Continued
    | Ended
)

Record = Message | AnyEdit | AnyFact

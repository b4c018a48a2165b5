"""What people, models and tools say to one another: frozen blocks and messages in the Anthropic content-block form.

Adapters translate this form to a provider's wire and back; nothing else does. One constructor per kind of host-made
message stands at the end, so that no other place decides how such a message looks.

What is said, and what happens (`records.py`, `events.py`), is frozen and made of what was there before: it cannot come to hold itself, so
the garbage collector need not look through it (`gc=False`). There may be hundreds of thousands of them, and its looks cost 4 % of a query.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec


class Block(msgspec.Struct, frozen=True, gc=False, tag_field="type", omit_defaults=True):
    """A part of a message; the subclass names its kind on the wire."""


class ProviderState(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Opaque data that only `provider` and `model` can read again: a signature, encrypted reasoning.

    It travels with its block unchanged and is dropped whole when either name changes.
    """

    provider: str
    model: str
    data: str


class Text(Block, frozen=True, tag="text"):
    text: str


class Thinking(Block, frozen=True, tag="thinking"):
    thinking: str
    state: ProviderState | None = None


class RedactedThinking(Block, frozen=True, tag="redacted_thinking"):
    state: ProviderState


class ToolUse(Block, frozen=True, tag="tool_use"):
    """A request to run the tool `name`. `input` is read-only by agreement.

    `invalid_input` holds the model's own text when it was not a JSON object; `input` is then empty and the call is
    answered with an error, never run.
    """

    id: str
    name: str
    input: Mapping[str, Any]
    invalid_input: str | None = None


class ServerBlock(Block, frozen=True, tag="server_block"):
    """What the provider did itself inside a reply, a search of the web for example: nothing for us to run or to answer.

    `state` holds the wire's own block, as JSON. A `call` and its `result` share `call_id`; on some wires both are one block, the
    `whole`. `text` says the same to people, on one line or several. `searches`: how many paid searches it was, as far as the block
    says so; it counts where no count of the provider's has come.
    """

    part: Literal["call", "result", "whole"]
    call_id: str
    text: str
    state: ProviderState
    searches: int = 0


class Image(Block, frozen=True, tag="image"):
    """`data` is base64."""

    media_type: str
    data: str


class Document(Block, frozen=True, tag="document"):
    """A PDF; `data` is base64."""

    media_type: str
    data: str
    title: str = ""


ResultBlock = Text | Image | Document


class ToolResult(Block, frozen=True, tag="tool_result"):
    """The one answer to the call `tool_use_id`."""

    tool_use_id: str
    content: str | tuple[ResultBlock, ...]
    is_error: bool = False


UserBlock = Text | Image | Document | ToolResult
AssistantBlock = Text | Thinking | RedactedThinking | ToolUse | ServerBlock


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens of one response, counted apart: `input_tokens` holds neither cache reads nor cache writes.

    `reasoning_tokens` are those of `output_tokens` that were thought, where the provider says so. `web_searches` are those that the
    provider ran; it charges for each.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    reasoning_tokens: int = 0
    web_searches: int = 0

    @property
    def context_tokens(self) -> int:
        """Everything the model held at the end of the response."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_input_tokens
            + self.cache_creation_input_tokens
        )

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.web_searches + other.web_searches,
        )

    def minus(self, other: "Usage") -> "Usage":
        """What is left of this beyond the other; nothing is below zero."""
        return Usage(
            max(0, self.input_tokens - other.input_tokens),
            max(0, self.output_tokens - other.output_tokens),
            max(0, self.cache_read_input_tokens - other.cache_read_input_tokens),
            max(0, self.cache_creation_input_tokens - other.cache_creation_input_tokens),
            max(0, self.reasoning_tokens - other.reasoning_tokens),
            max(0, self.web_searches - other.web_searches),
        )


NO_USAGE = Usage()


class MessageKind(msgspec.Struct, frozen=True, gc=False, tag_field="kind", omit_defaults=True):
    """A message; `uuid` is unique in its session."""

    uuid: str


Origin = Literal["prompt", "tool_result", "interruption", "recovery", "snip", "summary", "hook", "queue"]


class UserMessage(MessageKind, frozen=True, tag="user"):
    """What goes to the model in the user role.

    `is_meta`: the model sees it, the user does not. `block_ids` names the message that brought each tool result once the
    results of one response stand together. `display` is a structured account of a tool result for front ends
    (for example the diff of an edit); it never reaches the model.
    """

    content: tuple[UserBlock, ...]
    is_meta: bool = False
    origin: Origin = "prompt"
    block_ids: tuple[str, ...] = ()
    display: Mapping[str, Any] | None = None


class AssistantMessage(MessageKind, frozen=True, tag="assistant"):
    """A reply, or while it streams one completed block of it (a fragment).

    All fragments of one response share `response_id`. `block_ids` names the fragment that brought each block.
    `is_incomplete`: the stream broke after these blocks. `is_error`: the engine's own note that a call failed; it never
    reaches a model.
    """

    response_id: str
    model: str
    content: tuple[AssistantBlock, ...]
    block_ids: tuple[str, ...] = ()
    is_incomplete: bool = False
    is_error: bool = False

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolUse))

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if isinstance(block, Text))


class Attachment(msgspec.Struct, frozen=True, gc=False, tag_field="type", omit_defaults=True):
    """Something the model or the client should know beside what was said."""


class MaxTurnsReached(Attachment, frozen=True, tag="max_turns_reached"):
    """The turn limit ends the query; for clients only, never sent to a model."""

    max_turns: int
    turn_count: int


class KnownFile(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the model knows of a file from here on: the SHA-256 of its bytes, empty when nothing counts any more. `path` is resolved.

    `is_partial`: only a part of it was shown.
    """

    path: str
    content_hash: str = ""
    is_partial: bool = False


class Reminder(Attachment, frozen=True, tag="reminder"):
    """Context for the model, shown to it inside a reminder tag; `source` says which collector made it.

    `key` is what it is about (a path, a date): by it the collector sees, also after a resume, what the view holds already.
    `knows` is what a resume has to know of a file that it tells of.
    """

    source: str
    text: str
    key: str = ""
    knows: KnownFile | None = None


class AttachedImage(Attachment, frozen=True, tag="attached_image"):
    """An image file that the user named, shown to the model after a reminder that says which it is."""

    path: str
    image: Image


class QueuedCommand(Attachment, frozen=True, tag="queued_command"):
    """What the user sent while work went on, in the user's own words; its message has the uuid of the queued prompt."""

    prompt: str


AnyAttachment = MaxTurnsReached | Reminder | AttachedImage | QueuedCommand


class AttachmentMessage(MessageKind, frozen=True, tag="attachment"):
    attachment: AnyAttachment


class SystemMessage(MessageKind, frozen=True, tag="system"):
    """A notice for the user; never sent to a model. `data` says the same to a program, where there is more than the text."""

    subtype: str
    text: str
    level: Literal["info", "warning", "error"] = "info"
    data: Mapping[str, Any] | None = None


Message = UserMessage | AssistantMessage | AttachmentMessage | SystemMessage


def user_prompt(uuid: str, text: str) -> UserMessage:
    """What the user typed."""
    return UserMessage(uuid, (Text(text),))


def meta_prompt(uuid: str, text: str, *, origin: Origin) -> UserMessage:
    """What the engine tells the model on its own account; the user does not see it."""
    return UserMessage(uuid, (Text(text),), is_meta=True, origin=origin)


def tool_result_message(
    uuid: str, result: ToolResult, *, display: Mapping[str, Any] | None = None
) -> UserMessage:
    """The answer to one call."""
    return UserMessage(uuid, (result,), origin="tool_result", display=display)


def assistant_fragment(uuid: str, response_id: str, model: str, block: AssistantBlock) -> AssistantMessage:
    """One completed block of a response that still streams."""
    return AssistantMessage(uuid, response_id, model, (block,), (uuid,))


def closing_fragment(uuid: str, response_id: str, model: str) -> AssistantMessage:
    """Brings no block: it says of the response that it broke off after those that it has."""
    return AssistantMessage(uuid, response_id, model, (), is_incomplete=True)


def api_error_message(uuid: str, model: str, text: str) -> AssistantMessage:
    """The engine's own note that a model call failed; shown and stored, never sent."""
    return AssistantMessage(uuid, uuid, model, (Text(text),), (uuid,), is_error=True)


def notice_message(
    uuid: str,
    subtype: str,
    text: str,
    *,
    level: Literal["info", "warning", "error"] = "info",
    data: Mapping[str, Any] | None = None,
) -> SystemMessage:
    """What the engine tells the user on its own account; the model does not see it."""
    return SystemMessage(uuid, subtype, text, level, data)


def attachment_message(uuid: str, attachment: AnyAttachment) -> AttachmentMessage:
    return AttachmentMessage(uuid, attachment)


def count_tool_calls(messages: "tuple[Message, ...] | list[Message]") -> int:
    """How many tool calls the messages hold; fragments of one response are counted once each."""
    return sum(len(m.tool_uses) for m in messages if isinstance(m, AssistantMessage))

"""One message of the view as the model may see it: who speaks, and which blocks. Nothing here looks at neighbours."""

import re
from collections.abc import Sequence
from typing import Final, assert_never

from ostinato.messages import (
    AnyAttachment,
    AssistantBlock,
    AssistantMessage,
    AttachedImage,
    AttachmentMessage,
    MaxTurnsReached,
    Message,
    QueuedCommand,
    RedactedThinking,
    Reminder,
    ServerBlock,
    SystemMessage,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserBlock,
    UserMessage,
)
from ostinato.ports import ModelFacts

REMINDER_TAG: Final = re.compile(r"<(?=\s*/?\s*system-reminder)", re.IGNORECASE)
"""What would open or close a reminder; text of others must not hold it."""

STAND_INS: Final = frozenset({"summary", "snip"})
"""Origins of elements that stand for what was said before."""

QUEUED: Final = (
    "While you were working, the user sent this message:\n{text}\n\n"
    "These are the user's own words, and newer than the task so far. Take them up now: change course if they ask for it, "
    "else finish what you are doing and then answer them."
)

MEDIA_OMITTED: Final = "[media left out: an error result may hold only text]"


def rendered_user_blocks(message: Message) -> tuple[UserBlock, ...]:
    """The blocks of a message that speaks in the user role; empty for those the model never sees."""
    match message:
        case UserMessage():
            content = _as_context(message) if message.origin in STAND_INS else message.content
            return tuple(_legal_user_block(block) for block in content if not _is_blank(block))
        case AttachmentMessage():
            return _attachment_blocks(message.attachment)
        case SystemMessage() | AssistantMessage():
            return ()
        case _:
            assert_never(message)


def _as_context(message: UserMessage) -> tuple[UserBlock, ...]:
    """Models, tools and pages wrote what it tells; it does not speak as we do, whatever it holds."""
    return tuple(
        Text(REMINDER_TAG.sub("&lt;", block.text)) if isinstance(block, Text) else block
        for block in message.content
    )


def _attachment_blocks(attachment: AnyAttachment) -> tuple[UserBlock, ...]:
    match attachment:
        case Reminder():
            return (Text(reminder_text(attachment.text)),)
        case AttachedImage():
            note = f"The user named the image {attachment.path}; it follows."
            return (Text(reminder_text(note)), attachment.image)
        case QueuedCommand():
            return (Text(reminder_text(QUEUED.format(text=REMINDER_TAG.sub("&lt;", attachment.prompt)))),)
        case MaxTurnsReached():
            return ()
        case _:
            assert_never(attachment)


def reminder_text(text: str) -> str:
    """What an attachment says, as the model reads it: marked as context, so that it is not taken for the user's words."""
    return f"<system-reminder>\n{text.strip()}\n</system-reminder>"


def rendered_assistant_blocks(message: AssistantMessage, facts: ModelFacts) -> tuple[AssistantBlock, ...]:
    """What of a reply may be sent back to this model: no blank text, no thinking that belongs to another model."""
    if message.is_error:
        return ()
    return tuple(block for block in message.content if not _is_blank(block) and _belongs(block, facts))


def without_trailing_thinking(blocks: Sequence[AssistantBlock]) -> tuple[AssistantBlock, ...]:
    """Thinking may not be the last block of a message, nor stand alone."""
    end = len(blocks)
    while end and isinstance(blocks[end - 1], Thinking | RedactedThinking):
        end -= 1
    return tuple(blocks[:end])


def _is_blank(block: UserBlock | AssistantBlock) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _belongs(block: AssistantBlock, facts: ModelFacts) -> bool:
    """Opaque state is valid only for the provider and model that made it; thinking without it cannot be sent back."""
    match block:
        case Thinking() | RedactedThinking() | ServerBlock():
            state = block.state
            return state is not None and state.provider == facts.provider and state.model == facts.id
        case Text() | ToolUse():
            return True
        case _:
            assert_never(block)


def _legal_user_block(block: UserBlock) -> UserBlock:
    if not isinstance(block, ToolResult):
        return block
    if isinstance(block.content, str):
        return (
            block if block.content.strip() else ToolResult(block.tool_use_id, "(no output)", block.is_error)
        )
    if block.is_error:
        texts = [part.text if isinstance(part, Text) else MEDIA_OMITTED for part in block.content]
        return ToolResult(block.tool_use_id, "\n".join(texts) or "(no output)", is_error=True)
    parts = tuple(part for part in block.content if not _is_blank(part))
    return ToolResult(block.tool_use_id, parts or "(no output)")

"""A message whose image or document has given way to a note; everything else of it is as it was."""

from msgspec.structs import replace

from ostinato.messages import (
    AttachedImage,
    AttachmentMessage,
    Document,
    Image,
    Message,
    Reminder,
    Text,
    ToolResult,
    UserBlock,
    UserMessage,
)


def attached_note(attached: AttachedImage, note: str) -> str:
    """`note` for an attached image: of which one the user spoke is still said."""
    return f"The user named the image {attached.path}. {note}"


def without_media(message: Message, place: int, note: str) -> Message | None:
    """With the note for the media of the block at `place`, or for the attached image; None if there are none."""
    if isinstance(message, AttachmentMessage) and isinstance(message.attachment, AttachedImage):
        return replace(message, attachment=Reminder("media", note))
    if not isinstance(message, UserMessage) or not 0 <= place < len(message.content):
        return None
    block = _without(message.content[place], Text(note))
    if block is None:
        return None
    return replace(message, content=(*message.content[:place], block, *message.content[place + 1 :]))


def _without(block: UserBlock, note: Text) -> UserBlock | None:
    if isinstance(block, ToolResult) and isinstance(block.content, tuple):
        parts = tuple(note if isinstance(part, Image | Document) else part for part in block.content)
        return ToolResult(block.tool_use_id, parts, block.is_error)
    return note if isinstance(block, Image | Document) else None

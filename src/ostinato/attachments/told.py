"""What a view holds already: collectors look here instead of keeping count, so that a resume and a compaction change nothing."""

from collections.abc import Sequence
from pathlib import Path

from ostinato.codec import sanitise
from ostinato.messages import AttachmentMessage, Message, Reminder


def path_key(path: Path) -> str:
    """A path as a key: what comes back from a session file is what was put in."""
    return sanitise(str(path))


def told_keys(view: Sequence[Message], source: str) -> set[str]:
    """The keys of all reminders that a collector made and the model still sees."""
    return {
        message.attachment.key
        for message in view
        if isinstance(message, AttachmentMessage)
        and isinstance(message.attachment, Reminder)
        and message.attachment.source == source
    }


def last_told_key(view: Sequence[Message], source: str) -> str | None:
    """The key of the latest such reminder."""
    for message in reversed(view):
        if isinstance(message, AttachmentMessage):
            attachment = message.attachment
            if isinstance(attachment, Reminder) and attachment.source == source:
                return attachment.key
    return None

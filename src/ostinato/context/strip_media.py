"""What is done when a model has refused an image or document: all of them are replaced by a note, since it does not say which."""

from collections.abc import Callable, Sequence
from typing import Final

from ostinato.errors import ModelError
from ostinato.history import History
from ostinato.media_note import attached_note
from ostinato.messages import (
    AttachedImage,
    AttachmentMessage,
    Document,
    Image,
    Message,
    ToolResult,
    UserBlock,
    UserMessage,
)
from ostinato.ports import ModelFacts
from ostinato.records import AnyEdit, StripMedia

NOTE: Final = "[an image or document was left out, because the model could not take it]"


class MediaStripping:
    """Implements the loop's `Shorten` for media that were refused."""

    def __init__(self, new_uuid: Callable[[], str]) -> None:
        self._new_uuid = new_uuid

    async def __call__(
        self, messages: History, error: ModelError | None, model: ModelFacts
    ) -> Sequence[AnyEdit]:
        """An edit for each place that holds media; none if there is none."""
        del error, model
        return [edit for message in messages.view() for edit in self._edits(message)]

    def _edits(self, message: Message) -> Sequence[AnyEdit]:
        if isinstance(message, AttachmentMessage) and isinstance(message.attachment, AttachedImage):
            note = attached_note(message.attachment, NOTE)
            return (StripMedia(self._new_uuid(), message.uuid, 0, note),)
        if not isinstance(message, UserMessage):
            return ()
        return [
            StripMedia(self._new_uuid(), message.uuid, place, NOTE)
            for place, block in enumerate(message.content)
            if _holds_media(block)
        ]


def _holds_media(block: UserBlock) -> bool:
    if isinstance(block, ToolResult) and isinstance(block.content, tuple):
        return any(isinstance(part, Image | Document) for part in block.content)
    return isinstance(block, Image | Document)

"""Before stage 1: a request holds only so many images and documents. The oldest give way to a note before there are too many, several
at once, so that the bytes sent before change once in a while and a record says so; what the user brought back stays.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from ostinato.context.exchanges import unread_from
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.media_note import attached_note
from ostinato.messages import (
    AttachedImage,
    AttachmentMessage,
    Document,
    Image,
    Message,
    ToolResult,
    UserMessage,
)
from ostinato.normalise.normaliser import MAX_MEDIA, MEDIA_DROPPED
from ostinato.normalise.rendering import rendered_user_blocks
from ostinato.records import AnyEdit, StripMedia
from ostinato.undone import undone_edits

AT_ONCE: Final = 20
"""A changed beginning is paid for once for so many."""


class _Held(msgspec.Struct, frozen=True):
    """So many images and documents stand in one block of a message of the user's side."""

    message: str
    block: int
    count: int
    note: str = MEDIA_DROPPED


class MediaCap:
    def __init__(self, new_uuid: Callable[[], str]) -> None:
        self._new_uuid = new_uuid
        self._closed: list[Message] = []
        self._length = 0
        self._count = 0

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        del facts
        surplus = self._counted(messages) - MAX_MEDIA
        if surplus <= 0:
            return ()
        view = messages.view()
        unread = unread_from(view)
        stays = _wanted_back(messages)
        edits: list[AnyEdit] = []
        left = surplus + AT_ONCE
        for held in _held(view if unread is None else view[:unread]):
            if left <= 0:
                break
            if (held.message, held.block) not in stays:
                edits.append(StripMedia(self._new_uuid(), held.message, held.block, held.note))
                left -= held.count
        return edits

    def _counted(self, messages: History) -> int:
        """Of all media in the view; what is closed is looked at once."""
        if messages.closed is not self._closed or messages.closed_length < self._length:
            self._closed, self._length, self._count = messages.closed, 0, 0
        for index in range(self._length, messages.closed_length):
            self._count += _media_in(messages.closed[index])
        self._length = messages.closed_length
        return self._count + sum(map(_media_in, messages.tail))


def _held(view: Sequence[Message]) -> Iterator[_Held]:
    """Oldest first."""
    for message in view:
        if isinstance(message, AttachmentMessage) and isinstance(message.attachment, AttachedImage):
            yield _Held(message.uuid, 0, 1, attached_note(message.attachment, MEDIA_DROPPED))
        elif isinstance(message, UserMessage):
            for place, block in enumerate(message.content):
                if count := _media_of(block):
                    yield _Held(message.uuid, place, count)


def _media_in(message: Message) -> int:
    return sum(map(_media_of, rendered_user_blocks(message)))


def _media_of(block: object) -> int:
    if isinstance(block, ToolResult):
        return 0 if isinstance(block.content, str) or block.is_error else sum(map(_media_of, block.content))
    return int(isinstance(block, Image | Document))


def _wanted_back(messages: History) -> frozenset[tuple[str, int]]:
    log = messages.log()
    undone = undone_edits(log)
    return frozenset(
        (edit.message, edit.block) for edit in log if isinstance(edit, StripMedia) and edit.edit_id in undone
    )

"""Finished spans of a conversation: whole rounds, long enough to be worth an account, without a word of the user's in them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from ostinato.context.deeds import users_words
from ostinato.context.reactive import message_tokens
from ostinato.invariants import cut_points
from ostinato.messages import AssistantMessage, AttachmentMessage, Message, Reminder, UserMessage

SPAN_TOKENS: Final = 8_000
"""A span ends with the round that brings it to this size, so that an account stands for about one step of the work."""

MIN_SPAN_TOKENS: Final = 1_000
KEPT_ROUNDS: Final = 2
FOLDABLE_REMINDERS: Final = frozenset({"background", "changed_files", "date_change", "snip"})
"""News of a moment. Rules, memories and restored files hold until a compaction brings them again."""


class Span(msgspec.Struct, frozen=True):
    """The part of a view from `start` up to `end` (not included)."""

    start: int
    end: int
    tokens: int


def finished_spans(view: Sequence[Message]) -> Iterator[Span]:
    """Oldest first, up to the newest two rounds."""
    end = _newest_rounds(view)
    start, tokens = 0, 0
    points = [*(point for point in cut_points(view) if point <= end), end]
    for at, following in pairwise(points):
        part = view[at:following]
        if any(map(_must_stay, part)):
            yield from _span(start, at, tokens)
            start, tokens = following, 0
            continue
        tokens += sum(map(message_tokens, part))
        if tokens >= SPAN_TOKENS:
            yield from _span(start, following, tokens)
            start, tokens = following, 0
    yield from _span(start, end, tokens)


def _span(start: int, end: int, tokens: int) -> Iterator[Span]:
    if tokens >= MIN_SPAN_TOKENS:
        yield Span(start, end, tokens)


def _newest_rounds(view: Sequence[Message]) -> int:
    """Where the newest two replies begin; 0 if there are no more than these."""
    replies = [index for index, message in enumerate(view) if isinstance(message, AssistantMessage)]
    return replies[-KEPT_ROUNDS] if len(replies) > KEPT_ROUNDS else 0


def _must_stay(message: Message) -> bool:
    match message:
        case UserMessage():
            return message.origin in {"summary", "snip"} or bool(users_words(message))
        case AttachmentMessage():
            attachment = message.attachment
            return not isinstance(attachment, Reminder) or attachment.source not in FOLDABLE_REMINDERS
        case _:
            return False

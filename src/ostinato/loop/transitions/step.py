"""What a transition decides: the next State with its reason, or the end; and what it adds to the history."""

from collections.abc import Sequence

import msgspec

from ostinato.errors import ModelError
from ostinato.events import AssistantEvent, AttachmentEvent, Event, SystemEvent, TerminalReason, UserEvent
from ostinato.messages import AssistantMessage, AttachmentMessage, Message, SystemMessage, UserMessage
from ostinato.records import Continued
from ostinato.state import State


class Next(msgspec.Struct, frozen=True):
    """Go on with `state`, whose `transition` says why. `added` is written and shown before."""

    state: State
    transition: Continued
    added: tuple[Message, ...] = ()


class End(msgspec.Struct, frozen=True):
    """Stop. `added` is written and shown before the `Terminal`."""

    reason: TerminalReason
    added: tuple[Message, ...] = ()
    error: ModelError | None = None
    turn_count: int | None = None


Step = Next | End


def shown(message: Message) -> Event:
    """The event that shows a message."""
    match message:
        case UserMessage():
            return UserEvent(message)
        case AssistantMessage():
            return AssistantEvent(message)
        case AttachmentMessage():
            return AttachmentEvent(message)
        case SystemMessage():
            return SystemEvent(message)


def all_shown(messages: Sequence[Message]) -> list[tuple[Message, Event]]:
    return [(message, shown(message)) for message in messages]

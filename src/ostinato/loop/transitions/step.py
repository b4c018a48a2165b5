"""What a transition decides: the next State with its reason, or the end; and what it adds to the history."""

from collections.abc import Sequence

import msgspec

from ostinato.errors import ModelError
from ostinato.events import AssistantEvent, AttachmentEvent, Event, SystemEvent, TerminalReason, UserEvent
from ostinato.messages import AssistantMessage, AttachmentMessage, Message, SystemMessage, UserMessage
from ostinato.records import AnyEdit, Continued
from ostinato.state import State


class Next(msgspec.Struct, frozen=True):
    """Go on with `state`, whose `transition` says why. `edits`, then `added`, are written and shown before."""

    state: State
    transition: Continued
    added: tuple[Message, ...] = ()
    edits: tuple[AnyEdit, ...] = ()


class Why(msgspec.Struct, frozen=True):
    """Why a query ended badly, for a person: a sentence, what to do about it, and its kind."""

    message: str = ""
    hint: str = ""
    kind: str = ""
    status: int | None = None


NO_REASON = Why()


def why(error: ModelError | None) -> Why:
    """A failed model call as the reason of an end."""
    return NO_REASON if error is None else Why(error.message, error.hint, error.kind, error.status)


class End(msgspec.Struct, frozen=True):
    """Stop. `added` is written and shown before the `Terminal`, which also says `why`. `quiet_edits` are written before; they
    change what the model reads later and take nothing off a screen.
    """

    reason: TerminalReason
    added: tuple[Message, ...] = ()
    why: Why = NO_REASON
    turn_count: int | None = None
    edits: tuple[AnyEdit, ...] = ()
    quiet_edits: tuple[AnyEdit, ...] = ()


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

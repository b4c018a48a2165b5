"""What becomes of a line: an answer of the program's own, a prompt in its place, or nothing, for it is no command."""

from pathlib import Path
from typing import TypeAlias

import msgspec

from ostinato.messages import SystemMessage
from ostinato.permissions.rules import Rule


class Leave(msgspec.Struct, frozen=True):
    """The conversation is over; the host ends it."""


class StartAnew(msgspec.Struct, frozen=True):
    """A new session with the same settings; the old one stays as it is and can be resumed."""


class OpenSession(msgspec.Struct, frozen=True):
    """Go on with the session in this file."""

    path: Path


NextStep: TypeAlias = Leave | StartAnew | OpenSession
"""What a command cannot do itself, since it is the conversation's owner that holds the session."""


class SlashReply(msgspec.Struct, frozen=True):
    """What the program says; nothing goes to the model. `text` may hold what others wrote, but no control characters
    of theirs, apart from an exported conversation, which is as it was said.

    `is_error`: the line did not do what was meant. `is_kept`: the answer belongs into the session's file. `for_model`: what the
    model shall know of it with the next prompt, as the user's words; empty: nothing. `notices` are shown before it.
    """

    text: str
    is_error: bool = False
    is_kept: bool = True
    for_model: str = ""
    next_step: NextStep | None = None
    notices: tuple[SystemMessage, ...] = ()


class Expanded(msgspec.Struct, frozen=True):
    """The prompt to send in place of the line. `allowed_tools` and `model` count for this one query.

    `mentioned_in` is the part of it that the user or the command's author wrote: only there an `@` names a file.
    `notices` are sentences for the user.
    """

    prompt: str
    allowed_tools: tuple[Rule, ...] = ()
    model: str | None = None
    mentioned_in: str = ""
    notices: tuple[str, ...] = ()


class NotACommand(msgspec.Struct, frozen=True):
    """The prompt goes to the model as it is."""


SlashOutcome: TypeAlias = SlashReply | Expanded | NotACommand


def refusal(what: str, *, hint: str = "") -> SlashReply:
    """A line that could not be done: what is wrong, and what to do about it."""
    return SlashReply(f"{what}\nhint: {hint}\n" if hint else f"{what}\n", is_error=True)

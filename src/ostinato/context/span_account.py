"""What a finished span did, told by a program: files, commands and how they ended, errors, what was said. The same each time."""

from collections.abc import Iterable, Sequence
from typing import Final

from ostinato.context.deeds import Deeds, cut, deeds_of
from ostinato.context.exchanges import exchanges, shown_call
from ostinato.messages import AssistantMessage, Message

HEAD: Final = (
    "[A finished part of the work ({rounds} rounds) stands here in short. It was made by a program; read files or run commands again "
    "where you need more.]"
)
BY_MODEL: Final = (
    "[A finished part of the work stands here in short. A smaller model wrote it, so it may err; read files or run commands again "
    "where you need more.]\n"
)
ERROR_CHARACTERS: Final = 200
MAX_ERRORS: Final = 5
SAID_SHARE: Final = 3
"""Of the room, one third is for what the model said itself: decisions and findings stand there."""


def span_account(span: Sequence[Message], max_characters: int) -> str:
    """At most so many characters."""
    replies = [message for message in span if isinstance(message, AssistantMessage) and not message.is_error]
    deeds = deeds_of(span)
    said = "\n".join(message.text.strip() for message in replies if message.text.strip())
    parts = [HEAD.format(rounds=len(replies))]
    parts += _line("You said", cut(said, max_characters // SAID_SHARE))
    parts += _line("Changed", ", ".join(deeds.changed))
    parts += _line("Commands", "; ".join(deeds.commands))
    parts += _line("Failed", "; ".join(_errors(span)))
    parts += _line("Read", ", ".join(deeds.read))
    parts += _line("Other calls", ", ".join(f"{name} × {count}" for name, count in deeds.others.items()))
    return cut("\n".join(parts), max_characters)


def risk_of(deeds: Deeds, span: Sequence[Message]) -> int:
    """How much would be missed: files that were changed and calls that failed."""
    return len(deeds.changed) + sum(one.result.is_error for one in exchanges(span))


def _errors(span: Sequence[Message]) -> list[str]:
    failed = [one for one in exchanges(span) if one.result.is_error]
    return [
        f"{shown_call(one.call)}: {cut(' '.join((one.text or '').split()), ERROR_CHARACTERS)}"
        for one in failed[-MAX_ERRORS:]
    ]


def _line(title: str, text: str) -> Iterable[str]:
    if text:
        yield f"{title}: {text}"

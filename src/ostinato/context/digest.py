"""The earlier part of a conversation as an account made without a model: what is carried on, which commands ran and how they ended,
what was said last. The same messages give the same text.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from ostinato.context.carried import SHORT, carried_text
from ostinato.context.deeds import cut, deeds_of
from ostinato.messages import AssistantMessage, Message, Text, UserMessage
from ostinato.records import Carried

HEAD: Final = (
    "The conversation had become too long for the model. Its earlier part is replaced by this account, which a program made; it "
    "is context and not a new request. What it leaves out can be found again by reading files and running commands."
)

MAX_COMMANDS: Final = 40


def digest_text(messages: Sequence[Message], carried: Carried, max_characters: int) -> str:
    """What is carried, whole, and at most so many characters of the rest."""
    deeds = deeds_of(messages)
    parts = [
        *_listed("Earlier account:", _earlier(messages, max_characters // 3)),
        *_listed("Commands that ran:", *deeds.commands[-MAX_COMMANDS:]),
        *_listed("Other calls:", *(f"{name} × {count}" for name, count in deeds.others.items())),
        *_listed("What you said last:", cut(_last_said(messages), max_characters // 3)),
    ]
    rest = cut("\n\n".join(parts), max_characters)
    return "\n\n".join(part for part in (HEAD, carried_text(carried), SHORT + rest if rest else "") if part)


def _earlier(messages: Sequence[Message], max_characters: int) -> str:
    """What earlier summaries said; what they carried is carried on anyway."""
    texts = [
        "\n".join(block.text for block in message.content if isinstance(block, Text))
        for message in messages
        if isinstance(message, UserMessage) and message.origin == "summary"
    ]
    told = (text.partition(SHORT)[2] or text for text in texts)
    return cut("\n\n".join(told).removeprefix(HEAD).strip(), max_characters)


def _last_said(messages: Sequence[Message]) -> str:
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and not message.is_error and message.text.strip():
            return message.text
    return ""


def _listed(title: str, *entries: str) -> Iterable[str]:
    shown = [entry for entry in entries if entry.strip()]
    if shown:
        yield "\n".join([title, *(f"- {entry}" for entry in shown)])

"""The earlier part of a conversation as a short account, made without a model: what the user asked, in the user's own words; which
files were read and changed; which commands ran and how they ended; what was said last. The same messages give the same text.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from ostinato.messages import (
    AssistantMessage,
    AttachmentMessage,
    Message,
    QueuedCommand,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
)
from ostinato.records import NOTHING_CARRIED, Carried

HEAD: Final = (
    "The conversation had become too long for the model. Its earlier part is replaced by this account, which a program made; it "
    "is context and not a new request. What it leaves out can be found again by reading files and running commands."
)

PATH_INPUTS: Final = ("file_path", "notebook_path", "path")
CHANGING_TOOLS: Final = frozenset({"Edit", "Write", "NotebookEdit", "MultiEdit"})
COMMAND_TOOLS: Final = frozenset({"Bash"})

MAX_COMMANDS: Final = 40
MAX_COMMAND_CHARACTERS: Final = 200
MAX_FILES: Final = 100
LEFT_OUT: Final = "\n… {count} characters left out …\n"


class Deeds(msgspec.Struct):
    """What calls did, in order and each once."""

    read: dict[str, None] = msgspec.field(default_factory=dict[str, None])
    changed: dict[str, None] = msgspec.field(default_factory=dict[str, None])
    commands: list[str] = msgspec.field(default_factory=list[str])
    others: dict[str, int] = msgspec.field(default_factory=dict[str, int])


def digest_text(messages: Sequence[Message], max_characters: int, before: Carried = NOTHING_CARRIED) -> str:
    """At most so many characters, whatever the messages hold. Half of them are the user's: the first prompt and the newest words are
    kept whole as far as they fit. `before`: what earlier summaries carried.
    """
    spoken = [said for said in (*before.words, *map(users_words, messages)) if said.strip()]
    first = before.first_prompt or (spoken[0] if spoken else "")
    words = _users_words(spoken, max_characters // 2)
    deeds = deeds_of(messages, before)
    said = _last_said(messages)
    parts = [HEAD]
    if first not in words:
        parts += _listed("What the user asked first:", cut(first, max_characters // 8))
    parts += _listed("What the user said, oldest first:", *words)
    parts += _listed("Earlier account:", _earlier(messages, max_characters // 4))
    parts += _listed("Files that were changed:", *_names(deeds.changed))
    parts += _listed("Files that were read:", *_names(deeds.read))
    parts += _listed("Commands that ran:", *deeds.commands[-MAX_COMMANDS:])
    parts += _listed("Other calls:", *(f"{name} × {count}" for name, count in deeds.others.items()))
    parts += _listed("What you said last:", cut(said, max_characters // 8))
    return cut("\n\n".join(parts), max_characters)


def cut(text: str, max_characters: int) -> str:
    """The text, or its beginning and end with a note of what is missing."""
    if len(text) <= max_characters:
        return text
    room = max(0, max_characters - len(LEFT_OUT) - 8)
    head, tail = room - room // 3, room // 3
    note = LEFT_OUT.format(count=len(text) - head - tail)
    return (text[:head] + note + text[len(text) - tail :])[:max_characters]


def users_words(message: Message) -> str:
    """What the user said in this message; empty if it holds no word of the user."""
    if isinstance(message, AttachmentMessage) and isinstance(message.attachment, QueuedCommand):
        return message.attachment.prompt
    if isinstance(message, UserMessage) and message.origin == "prompt" and not message.is_meta:
        return "\n".join(block.text for block in message.content if isinstance(block, Text))
    return ""


def _users_words(said: Sequence[str], max_characters: int) -> list[str]:
    """Newest first until the room is used up, then turned round; one that does not fit is cut, the others are counted."""
    kept: list[str] = []
    room = max_characters
    for words in reversed(said):
        if room <= 0:
            kept.append(f"({len(said) - len(kept)} earlier messages are left out)")
            break
        kept.append(cut(words, room))
        room -= len(words)
    return kept[::-1]


def _earlier(messages: Sequence[Message], max_characters: int) -> str:
    texts = [
        "\n".join(block.text for block in message.content if isinstance(block, Text))
        for message in messages
        if isinstance(message, UserMessage) and message.origin == "summary"
    ]
    return cut("\n\n".join(texts).removeprefix(HEAD).strip(), max_characters)


def deeds_of(messages: Sequence[Message], before: Carried = NOTHING_CARRIED) -> Deeds:
    failed = {
        block.tool_use_id: block.is_error
        for message in messages
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult)
    }
    deeds = Deeds(dict.fromkeys(before.read), dict.fromkeys(before.changed))
    for message in messages:
        for call in message.tool_uses if isinstance(message, AssistantMessage) else ():
            _note(call, deeds, is_error=failed.get(call.id, True))
    return deeds


def _note(call: ToolUse, deeds: Deeds, *, is_error: bool) -> None:
    path = _path(call.input)
    command = call.input.get("command")
    if call.name in COMMAND_TOOLS and isinstance(command, str):
        line = " ".join(command.split())[:MAX_COMMAND_CHARACTERS]
        deeds.commands.append(f"{line} ({'failed' if is_error else 'ok'})")
    elif path and not is_error:
        (deeds.changed if call.name in CHANGING_TOOLS else deeds.read)[path] = None
    else:
        deeds.others[call.name] = deeds.others.get(call.name, 0) + 1


def _path(given: Mapping[str, object]) -> str:
    found = next((given[name] for name in PATH_INPUTS if isinstance(given.get(name), str)), "")
    return str(found)[:500]


def _last_said(messages: Sequence[Message]) -> str:
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and not message.is_error and message.text.strip():
            return message.text
    return ""


def _names(paths: Mapping[str, None]) -> list[str]:
    names = list(paths)
    more = len(names) - MAX_FILES
    return [*names[-MAX_FILES:], *([f"(and {more} more)"] if more > 0 else [])]


def _listed(title: str, *entries: str) -> Iterable[str]:
    shown = [entry for entry in entries if entry.strip()]
    if shown:
        yield "\n".join([title, *(f"- {entry}" for entry in shown)])

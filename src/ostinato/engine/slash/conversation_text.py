"""A conversation as Markdown: everything that was said, what was compacted too; what was taken back is not in it."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from ostinato.codec import sanitise
from ostinato.history import History
from ostinato.messages import (
    AnyAttachment,
    AssistantBlock,
    AssistantMessage,
    AttachedImage,
    AttachmentMessage,
    Document,
    Image,
    Message,
    QueuedCommand,
    RedactedThinking,
    ServerBlock,
    SystemMessage,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserBlock,
    UserMessage,
)
from ostinato.records import Record, Retract, Undo
from ostinato.visible_text import written_out

MAX_BLOCK_CHARACTERS: Final = 30_000
"""Of one tool result or one input; the rest is left out, and said to be."""

CUT_OFF: Final = "*[the reply broke off here]*"

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_TICKS: Final = re.compile(r"`+")
_MESSAGES: Final = (UserMessage, AssistantMessage, AttachmentMessage, SystemMessage)


def conversation_markdown(history: History, session_id: str) -> str:
    """Thinking and what only the model was told are left out. Control characters are written out."""
    parts = [f"# Conversation {session_id}"]
    speaker = ""
    for message in said_messages(history.log()):
        told = [part for part in _parts(message) if part.strip()]
        if told and (_speaker(message) != speaker or _is_typed(message)):
            speaker = _speaker(message)
            parts.append(f"## {speaker}")
        parts.extend(part for part in told if (part, parts[-1]) != (CUT_OFF, CUT_OFF))
    text = "\n\n".join(part.strip("\n") for part in parts)
    return _CONTROL.sub(lambda found: written_out(found[0]), sanitise(text)) + "\n"


def said_messages(log: Iterable[Record]) -> Iterator[Message]:
    """Everything that was said, whatever the model sees of it now; what was taken back is not among it."""
    log = list(log)
    undone = {record.target for record in log if isinstance(record, Undo)}
    gone = {
        uuid
        for record in log
        if isinstance(record, Retract) and record.edit_id not in undone
        for uuid in record.ids
    }
    for record in log:
        if isinstance(record, _MESSAGES) and record.uuid not in gone:
            yield record


def _speaker(message: Message) -> str:
    match message:
        case UserMessage(origin="prompt") | AttachmentMessage():
            return "You"
        case _:
            return "ostinato"


def _is_typed(message: Message) -> bool:
    """Whether it is something of its own that the user sent: it may stand behind another that got no reply."""
    match message:
        case UserMessage(origin="prompt") | AttachmentMessage(attachment=QueuedCommand()):
            return True
        case _:
            return False


def _parts(message: Message) -> Iterator[str]:
    match message:
        case UserMessage(is_meta=True):
            return
        case UserMessage():
            for block in message.content:
                yield _user_block(block)
        case AssistantMessage():
            for block in message.content:
                yield _assistant_block(block)
            if message.is_incomplete:
                yield CUT_OFF
        case AttachmentMessage():
            yield _attached(message.attachment)
        case SystemMessage(subtype="local_command_output"):
            return  # what the program answered to a command is no part of the conversation
        case SystemMessage():
            yield f"> {message.text}".replace("\n", "\n> ")
        case _:
            assert_never(message)


def _attached(attachment: AnyAttachment) -> str:
    match attachment:
        case AttachedImage(path):
            return f"*[image {path}]*"
        case QueuedCommand(prompt):
            return prompt
        case _:
            return ""  # the others are for the model or for clients


def _user_block(block: UserBlock) -> str:
    match block:
        case Text(text):
            return text
        case Image():
            return "*[image]*"
        case Document():
            return f"*[document {block.title}]*"
        case ToolResult():
            return f"{'Failed' if block.is_error else 'Result'}:\n\n{_fenced(_result_text(block))}"
        case _:
            assert_never(block)


def _assistant_block(block: AssistantBlock) -> str:
    match block:
        case Text(text):
            return text
        case Thinking() | RedactedThinking():
            return ""
        case ServerBlock():
            return f"*{block.text}*"
        case ToolUse():
            given = block.invalid_input or json.dumps(block.input, ensure_ascii=False, indent=2, default=str)
            return f"**{block.name}**\n\n{_fenced(given, 'json')}"
        case _:
            assert_never(block)


def _result_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n".join(
        part.text if isinstance(part, Text) else "[image or document]" for part in result.content
    )


def _fenced(text: str, language: str = "") -> str:
    """A code block that nothing in the text can close."""
    if len(text) > MAX_BLOCK_CHARACTERS:
        text = f"{text[:MAX_BLOCK_CHARACTERS]}\n[{len(text) - MAX_BLOCK_CHARACTERS:,} characters more]"
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"

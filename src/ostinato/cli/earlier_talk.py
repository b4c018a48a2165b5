"""What was said before, for a conversation that goes on: its last exchanges as they stood on the screen, in short.

Bounded, however long the session is; how much came before is said.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from ostinato.cli.folded import folded
from ostinato.cli.transcript import INTERRUPTED, Transcript
from ostinato.engine.slash.conversation_text import said_messages
from ostinato.engine.slash.own_shell_line import as_typed
from ostinato.events import AssistantEvent, AttachmentEvent, Event, ToolEnd, UserEvent
from ostinato.history import History
from ostinato.messages import (
    AssistantBlock,
    AssistantMessage,
    AttachmentMessage,
    Message,
    Text,
    ToolResult,
    UserMessage,
)
from ostinato.records import ToolFinished

MAX_EXCHANGES: Final = 3
MAX_STEPS: Final = 12
"""Of one exchange: replies and results."""

MAX_TEXT_LINES: Final = 60
_PROMPT_HEAD, _PROMPT_TAIL = 6, 2


class _Exchange(msgspec.Struct):
    prompt: str
    steps: list[Message]
    is_interrupted: bool = False


def earlier_talk(history: History, transcript: Transcript) -> str:
    """The lines to be shown; empty if nobody said anything yet."""
    log = history.log()
    exchanges = _exchanges(said_messages(log))
    shown = exchanges[-MAX_EXCHANGES:]
    if not shown:
        return ""
    ended = {one.tool_use_id: one for one in log if isinstance(one, ToolFinished)}
    lines = [transcript.passing(_heading(len(exchanges) - len(shown)))]
    for exchange in shown:
        lines.append(transcript.prompt(_in_short(exchange.prompt, _PROMPT_HEAD, _PROMPT_TAIL)))
        left_out = len(exchange.steps) - MAX_STEPS
        if left_out > 0:
            lines.append(transcript.passing(f"(… {left_out:,} earlier steps)\n"))
        lines += map(transcript.take, _events(exchange.steps[-MAX_STEPS:], ended))
        if exchange.is_interrupted or _is_cut(exchange.steps[-1:]):
            lines.append(transcript.passing(INTERRUPTED))
    return "".join(lines)


def _heading(before: int) -> str:
    if not before:
        return "(said before)\n"
    told = "1 exchange" if before == 1 else f"{before:,} exchanges"
    return f"(said before; {told} earlier than this, `/export` gives all)\n"


def _exchanges(messages: Iterable[Message]) -> list[_Exchange]:
    """Each begins with what the person sent; what came before the first is no exchange."""
    found: list[_Exchange] = []
    for message in messages:
        if isinstance(message, UserMessage) and message.origin == "prompt" and not message.is_meta:
            text = "\n".join(block.text for block in message.content if isinstance(block, Text))
            found.append(_Exchange(as_typed(text), []))
        elif found and isinstance(message, UserMessage) and message.origin == "interruption":
            found[-1].is_interrupted = True
        elif found and _is_shown(message):
            found[-1].steps.append(message)
    return found


def _is_cut(last: Sequence[Message]) -> bool:
    """Also where a new message of the user explained it, so that nothing else says so."""
    return any(isinstance(message, AssistantMessage) and message.is_incomplete for message in last)


def _is_shown(message: Message) -> bool:
    match message:
        case AssistantMessage():
            return not message.is_error and bool(message.text.strip() or message.tool_uses)
        case UserMessage():
            return message.origin == "tool_result"
        case _:
            return isinstance(message, AttachmentMessage)


def _events(steps: Sequence[Message], ended: Mapping[str, ToolFinished]) -> Iterable[Event]:
    """As the loop told them."""
    names: dict[str, str] = {}
    for message in steps:
        match message:
            case AssistantMessage():
                names |= {call.id: call.name for call in message.tool_uses}
                yield AssistantEvent(replace(message, content=tuple(map(_shortened, message.content))))
            case UserMessage():
                results = [block for block in message.content if isinstance(block, ToolResult)]
                for result in results:
                    if result.tool_use_id in names:
                        yield _end(result, names[result.tool_use_id], ended.get(result.tool_use_id))
                yield UserEvent(message)
            case AttachmentMessage():
                yield AttachmentEvent(message)
            case _:
                pass


def _end(result: ToolResult, name: str, finished: ToolFinished | None) -> ToolEnd:
    if finished is None:
        return ToolEnd(result.tool_use_id, name, "error" if result.is_error else "ok")
    return ToolEnd(result.tool_use_id, name, finished.outcome, finished.duration_ms)


def _shortened(block: AssistantBlock) -> AssistantBlock:
    if not isinstance(block, Text):
        return block
    return replace(block, text=_in_short(block.text, MAX_TEXT_LINES // 2, MAX_TEXT_LINES // 2))


def _in_short(text: str, head: int, tail: int) -> str:
    return "\n".join(folded(text.split("\n"), head, tail))

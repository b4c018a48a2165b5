"""What a query came to, in one value, for callers who do not want the events."""

import msgspec

from ostinato.events import AssistantEvent, Event, Terminal, TerminalReason
from ostinato.messages import AssistantMessage, Usage


class QueryResult(msgspec.Struct, frozen=True):
    """`text` is the text of the last reply; `events` is everything that happened, in order."""

    reason: TerminalReason
    text: str
    terminal: Terminal
    events: tuple[Event, ...]

    @property
    def usage(self) -> Usage:
        return self.terminal.usage

    @property
    def turn_count(self) -> int:
        return self.terminal.turn_count


def final_text(messages: list[AssistantMessage]) -> str:
    """The text of the last response: all its fragments, less the engine's own error notes."""
    spoken = [message for message in messages if not message.is_error]
    if not spoken:
        return ""
    last = spoken[-1].response_id
    return "".join(message.text for message in spoken if message.response_id == last)


def result_of_events(events: list[Event]) -> QueryResult:
    """Raises ValueError if the last event is no Terminal."""
    terminal = events[-1] if events else None
    if not isinstance(terminal, Terminal):
        raise ValueError("a query's events end with its Terminal")
    said = [event.message for event in events if isinstance(event, AssistantEvent)]
    return QueryResult(terminal.reason, final_text(said), terminal, tuple(events))

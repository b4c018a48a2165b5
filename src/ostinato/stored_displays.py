"""What calls of one tool left for front ends, found again in a session's records: state that outlives the messages."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ostinato.messages import AssistantMessage, ToolResult, UserMessage
from ostinato.records import Record


def displays_of(records: Iterable[Record], tool_name: str) -> Iterator[Mapping[str, Any]]:
    """The displays of its successful calls, oldest first."""
    calls: set[str] = set()
    for record in records:
        if isinstance(record, AssistantMessage):
            calls |= {call.id for call in record.tool_uses if call.name == tool_name}
        elif isinstance(record, UserMessage) and record.display is not None:
            for block in record.content:
                if isinstance(block, ToolResult) and block.tool_use_id in calls and not block.is_error:
                    yield record.display

"""Calls and their results as they stand in the view: what the stages that shorten results look at."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from ostinato.context.deeds import PATH_INPUTS
from ostinato.messages import AssistantMessage, Message, Text, ToolResult, ToolUse, UserMessage

SHOWN_CHARACTERS = 120
NO_CALLS: Final[Mapping[str, ToolUse]] = MappingProxyType({})


class Exchange(msgspec.Struct, frozen=True):
    """A call and its result; `index` is the place of the message that holds the result."""

    call: ToolUse
    result: ToolResult
    index: int

    @property
    def text(self) -> str | None:
        """The result as text; None where it also holds an image or a document."""
        content = self.result.content
        if isinstance(content, str):
            return content
        texts = [part.text for part in content if isinstance(part, Text)]
        return "\n".join(texts) if len(texts) == len(content) else None


def exchanges(view: Sequence[Message], earlier: Mapping[str, ToolUse] = NO_CALLS) -> Iterator[Exchange]:
    """Every answered call, in the order of the results. `earlier`: calls, by id, that stand before this part of a view."""
    calls = dict(earlier)
    for index, message in enumerate(view):
        if isinstance(message, AssistantMessage):
            calls.update((call.id, call) for call in message.tool_uses)
        elif isinstance(message, UserMessage):
            for block in message.content:
                if isinstance(block, ToolResult) and block.tool_use_id in calls:
                    yield Exchange(calls[block.tool_use_id], block, index)


def shown_call(call: ToolUse) -> str:
    """The call in a few words: `Read src/a.py`, `Bash make test`."""
    names = ("command", *PATH_INPUTS, "pattern", "url", "query")
    value = next((call.input[name] for name in names if isinstance(call.input.get(name), str)), "")
    line = " ".join(str(value).split())
    cut = line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"
    return f"{call.name} {cut}".strip()


def unread_from(view: Sequence[Message]) -> int | None:
    """Where the reply stands whose results no reply has followed; None if the newest message with blocks is a reply."""
    for index in range(len(view) - 1, -1, -1):
        message = view[index]
        if isinstance(message, AssistantMessage) and not message.is_error:
            return index if index < len(view) - 1 and message.tool_uses else None
    return None

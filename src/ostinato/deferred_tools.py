"""Tools that the model knows by name only: with many of them, each request would be mostly schemas.

`ToolSearch` finds them; what was found is sent with every later request, behind all the others, in the order of finding: what
was sent before stays as it was. A call of one that was not found yet is still a call, if its input is right.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

import msgspec

from ostinato.records import Record
from ostinato.stored_displays import displays_of
from ostinato.tool import Tool

SEARCH_TOOL: Final = "ToolSearch"

MAX_WINDOW_SHARE: Final = 0.1
MAX_SENT_TOKENS: Final = 10_000
"""Schemas beyond the built-in ones that take more than this share of the window, or more than this, are deferred."""

BYTES_A_TOKEN: Final = 4


class FoundTools:
    """The names that a conversation has found, in that order; it only grows."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = tuple(dict.fromkeys(names))

    def add(self, names: Iterable[str]) -> None:
        self.names = tuple(dict.fromkeys((*self.names, *names)))


class DeferredTools(msgspec.Struct, frozen=True):
    """`searchable` can be found; `switched_off` is never sent: a call of it says what it would need."""

    found: FoundTools
    searchable: frozenset[str] = frozenset()
    switched_off: frozenset[str] = frozenset()

    def is_unknown(self, name: str) -> bool:
        """Whether the model was never told how this tool is called."""
        return name in self.searchable and name not in self.found.names

    def known_names(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        """Of these tools, those that the model may call: all that are sent or can be searched."""
        return tuple(tool.name for tool in tools if tool.name not in self.switched_off)

    def sent(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """Of these tools, what a request holds now."""
        by_name = {tool.name: tool for tool in tools}
        first = (tool for tool in tools if tool.name not in self.searchable | self.switched_off)
        later = (by_name[name] for name in self.found.names if name in self.searchable and name in by_name)
        return (*first, *later)


NOTHING_DEFERRED: Final = DeferredTools(FoundTools())


def found_in(records: Iterable[Record]) -> tuple[str, ...]:
    """What was found in the session so far, in that order."""
    names: list[str] = []
    for display in displays_of(records, SEARCH_TOOL):
        found = display.get("found")
        if isinstance(found, list):
            names += [name for name in cast("list[Any]", found) if isinstance(name, str)]
    return tuple(dict.fromkeys(names))


def deferred(tools: Sequence[Tool], *, context_window: int) -> tuple[Tool, ...]:
    """Those that wait to be found: all that may, where together they are too large; else none."""
    may_wait = tuple(tool for tool in tools if not tool.always_load)
    limit = min(MAX_SENT_TOKENS, int(context_window * MAX_WINDOW_SHARE))
    return may_wait if schema_tokens(may_wait) > limit else ()


def schema_tokens(tools: Iterable[Tool]) -> int:
    """What they take of a request, about."""
    size = sum(len(str(tool.input_schema)) + len(tool.description) + len(tool.name) for tool in tools)
    return size // BYTES_A_TOKEN

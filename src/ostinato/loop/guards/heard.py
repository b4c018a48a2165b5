"""What a round of calls came to, as far as a guard must know it: which call, which answer, whether it failed or changed something.

Calls and answers are numbers here: equal things have equal numbers, and the results themselves need not be kept.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ostinato.messages import AssistantMessage, Text, ToolResult, ToolUse, UserMessage
from ostinato.records import Record, Retract, ToolStarted
from ostinato.tool import Tool, find_tool

TIME_TAKEN: Final = re.compile(r"\bin \d+(?:\.\d+)? ?s(?:econds)?\b")
"""How long it took is no news: test runners end with it."""

LAST_WORDS: Final = 400

PARTICULARS: Final = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\S*/\S*|\d+")
"""What differs between two errors of one kind: names in quotes, paths, numbers."""

MAX_ERROR_CHARACTERS: Final = 400
"""An error says in its first words what it is."""


class Heard(msgspec.Struct, frozen=True):
    """A call and its answer. `failure` is 0 for what did not fail. `waits`: waiting is what the call is for."""

    block: ToolUse
    call: int
    answer: int
    failure: int
    has_changed: bool
    waits: bool
    length: int
    """Of the answer, in characters."""


def heard(records: Sequence[Record], tools: Sequence[Tool]) -> tuple[Heard, ...]:
    """The calls of a round that have an answer, without those that were taken back, in their order."""
    gone = {uuid for record in records if isinstance(record, Retract) for uuid in record.ids}
    results: dict[str, ToolResult] = {}
    calls: list[ToolUse] = []
    started: dict[str, ToolStarted] = {}
    for record in records:
        match record:
            case AssistantMessage() if record.uuid not in gone:
                calls.extend(record.tool_uses)
            case UserMessage() if record.uuid not in gone:
                results |= {one.tool_use_id: one for one in record.content if isinstance(one, ToolResult)}
            case ToolStarted():
                started[record.tool_use_id] = record
            case _:
                pass
    return tuple(
        _heard(call, results[call.id], started.get(call.id), tools) for call in calls if call.id in results
    )


def _heard(call: ToolUse, result: ToolResult, started: ToolStarted | None, tools: Sequence[Tool]) -> Heard:
    text = result_text(result)
    failure = hash((call.name, _way_of_failing(text))) if result.is_error else 0
    waits = _waits(call, tools)
    told = (text, "") if waits else (text[:-LAST_WORDS], TIME_TAKEN.sub("", text[-LAST_WORDS:]))
    pictures = () if isinstance(result.content, str) else result.content
    return Heard(
        call,
        hash((call.name, _canonical(call.input), call.invalid_input)),
        hash((told, result.is_error, tuple(one for one in pictures if not isinstance(one, Text)))),
        failure,
        has_changed=not result.is_error and started is not None and not started.is_read_only,
        waits=waits,
        length=len(text),
    )


def result_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n".join(block.text for block in result.content if isinstance(block, Text))


def _canonical(tool_input: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(tool_input, order="deterministic")


def _way_of_failing(text: str) -> str:
    return PARTICULARS.sub("#", text[:MAX_ERROR_CHARACTERS])


def _waits(call: ToolUse, tools: Sequence[Tool]) -> bool:
    tool = find_tool(tools, call.name)
    try:
        return tool is not None and tool.waits(call.input)
    except Exception:  # ruff: ignore[blind-except] - somebody else's tool; what cannot be told does not wait
        return False

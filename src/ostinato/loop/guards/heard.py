"""What a round of calls came to, as far as a guard must know it: which call, which answer, whether it failed or changed something.

Calls and answers are numbers here: equal things have equal numbers, and the results themselves need not be kept.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ostinato.messages import AssistantMessage, Text, ToolResult, ToolUse, UserMessage
from ostinato.records import Record, Retract, ToolFinished, ToolStarted
from ostinato.tool import Tool, find_tool

TIME_TAKEN: Final = re.compile(r"\bin \d+(?:\.\d+)? ?s(?:econds)?\b")
"""How long it took is no news: test runners end with it."""

LAST_WORDS: Final = 400

PARTICULARS: Final = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\S*/\S*|\d+")
"""What differs between two errors of one kind: names in quotes, paths, numbers."""

MAX_ERROR_CHARACTERS: Final = 400
"""An error says in its first words what it is."""

UNDER_WAY: Final = re.compile(
    r"(?i)\b(?:pending|in[ _-]?progress|running(?! \d+ tests?\b)|waiting|starting|unfinished"
    r"|not (?:yet )?(?:ready|done|finished|complete))\b"
)
"""A status that says of itself that it is not the last; test runners say what they run."""

MAX_STATUS_CHARACTERS: Final = 200
"""A status is short; in a long text such words mean nothing."""

LONG_MS: Final = 5_000
"""A look that took so long and found next to nothing has waited for something."""

MAX_NOTHING_CHARACTERS: Final = 200


class Heard(msgspec.Struct, frozen=True):
    """A call and its answer. `failure` is 0 for what did not fail. `waits`: waiting is what the call is for, or what it came to."""

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
    took_ms: dict[str, int] = {}
    for record in records:
        match record:
            case AssistantMessage() if record.uuid not in gone:
                calls.extend(record.tool_uses)
            case UserMessage() if record.uuid not in gone:
                results |= {one.tool_use_id: one for one in record.content if isinstance(one, ToolResult)}
            case ToolStarted():
                started[record.tool_use_id] = record
            case ToolFinished():
                took_ms[record.tool_use_id] = record.duration_ms
            case _:
                pass
    return tuple(
        _heard(call, results[call.id], started.get(call.id), took_ms.get(call.id, 0), tools)
        for call in calls
        if call.id in results
    )


def _heard(
    call: ToolUse, result: ToolResult, started: ToolStarted | None, took_ms: int, tools: Sequence[Tool]
) -> Heard:
    text, tool = result_text(result), find_tool(tools, call.name)
    failure = hash((call.name, _way_of_failing(text))) if result.is_error else 0
    waits = _waits(call, tool)
    is_look = started is not None and started.is_read_only
    told = (text, "") if waits else (text[:-LAST_WORDS], TIME_TAKEN.sub("", text[-LAST_WORDS:]))
    pictures = () if isinstance(result.content, str) else result.content
    return Heard(
        call,
        hash((call.name, _canonical(_essential(call, tool)), call.invalid_input)),
        hash((told, result.is_error, tuple(one for one in pictures if not isinstance(one, Text)))),
        failure,
        has_changed=not result.is_error and started is not None and not started.is_read_only,
        waits=waits or (not result.is_error and _has_waited(text, took_ms, is_look=is_look)),
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


def _has_waited(text: str, took_ms: int, *, is_look: bool) -> bool:
    """What the answer says of it, whatever the call was."""
    if is_look and took_ms >= LONG_MS and len(text) <= MAX_NOTHING_CHARACTERS:
        return True
    return len(text) <= MAX_STATUS_CHARACTERS and UNDER_WAY.search(text) is not None


def _essential(call: ToolUse, tool: Tool | None) -> Mapping[str, Any]:
    try:
        return call.input if tool is None else tool.essential(call.input)
    except Exception:  # ruff: ignore[blind-except] - somebody else's tool, or an input that is none of its
        return call.input


def _waits(call: ToolUse, tool: Tool | None) -> bool:
    try:
        return tool is not None and tool.waits(call.input)
    except Exception:  # ruff: ignore[blind-except] - somebody else's tool; what cannot be told does not wait
        return False

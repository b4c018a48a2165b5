"""The events of a query as the loop gives them, for renderers: replies from doubles, no process, no clock."""

from collections.abc import Mapping, Sequence
from typing import Any

from ostinato.events import (
    AssistantEvent,
    BlockStop,
    Denial,
    Event,
    RequestStart,
    ResponseUsage,
    StreamEvent,
    Terminal,
    TerminalReason,
    ToolEnd,
    ToolStart,
    UserEvent,
)
from ostinato.messages import (
    AssistantBlock,
    ToolResult,
    ToolUse,
    Usage,
    assistant_fragment,
    tool_result_message,
)
from ostinato.testing import SCRIPTED_USAGE, Gate, Reply
from ostinato.testing.script import steps

MODEL = "scripted-1"


def reply(number: int, *blocks: AssistantBlock) -> list[Event]:
    """A whole response: its request, its deltas, a fragment a block, its usage."""
    said = Reply(*blocks)
    response_id = f"msg_{number}"
    events: list[Event] = [RequestStart(MODEL, number)]
    for step in steps(said, response_id=response_id, provider="scripted", model=MODEL):
        assert not isinstance(step, Gate)
        events.append(StreamEvent(step))
        if isinstance(step, BlockStop):
            fragment = assistant_fragment(f"{response_id}/{step.index}", response_id, MODEL, step.block)
            events.append(AssistantEvent(fragment))
    events.append(ResponseUsage(response_id, MODEL, SCRIPTED_USAGE, said.reason))
    return events


def ran(call: ToolUse, text: str, display: Mapping[str, Any] | None = None) -> list[Event]:
    """A call that ran and answered `text`."""
    result = tool_result_message(f"result of {call.id}", ToolResult(call.id, text), display=display)
    return [
        ToolStart(call.id, call.name, call.input),
        ToolEnd(call.id, call.name, "ok", 1200),
        UserEvent(result),
    ]


def refused(call: ToolUse) -> list[Event]:
    """A call that was not allowed to run."""
    result = tool_result_message(f"result of {call.id}", ToolResult(call.id, "no", is_error=True))
    return [ToolEnd(call.id, call.name, "denied"), UserEvent(result)]


def denial(call: ToolUse) -> Denial:
    return Denial(call.name, call.id, call.input, "nobody can be asked")


def ended(
    reason: TerminalReason = "completed", *, responses: int = 1, denials: Sequence[Denial] = (), **fields: Any
) -> Terminal:
    usage = Usage()
    for _ in range(responses):
        usage = usage.plus(SCRIPTED_USAGE)
    return Terminal(reason, responses, usage=usage, denials=tuple(denials), **fields)

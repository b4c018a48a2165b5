"""Short readings of a run, for assertions: which kinds of events came, and why the passes went on."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from ostinato.events import (
    AssistantEvent,
    AttachmentEvent,
    Event,
    RequestStart,
    ResponseUsage,
    Result,
    StreamEvent,
    SystemEvent,
    Terminal,
    ToolEnd,
    ToolOutput,
    ToolStart,
    Transition,
    UserEvent,
)
from ostinato.messages import Text, ToolResult, ToolUse

LIVE_KIND = "stream_event"


def kind(event: Event) -> str:
    """The event's name on the wire, such as `assistant` or `terminal`."""
    return str(type(event).__struct_config__.tag)


def kinds(events: Iterable[Event], *, with_progress: bool = False) -> tuple[str, ...]:
    """The kinds in order; stream events in a row count once, lossy tool output is left out unless asked for."""
    kept = (event for event in events if with_progress or not isinstance(event, ToolOutput))
    return tuple(
        name for name, group in groupby(kept, key=kind) for _ in ((1,) if name == LIVE_KIND else tuple(group))
    )


def without_deltas(events: Iterable[Event]) -> tuple[Event, ...]:
    """Everything but the stream events."""
    return tuple(event for event in events if not isinstance(event, StreamEvent))


def terminal(events: Sequence[Event]) -> Terminal:
    """The last event, which must be the only Terminal; an engine's one `Result` may follow it."""
    found = [place for place, event in enumerate(events) if isinstance(event, Terminal)]
    ended = [event for event in events[-2:] if not isinstance(event, Result)]
    last = ended[-1] if ended else None
    if not isinstance(last, Terminal) or len(found) != 1:
        raise AssertionError(f"one Terminal, at the end, was expected; the kinds are {kinds(events)}")
    return last


def result(events: Sequence[Event]) -> Result:
    """The last event, which must be the only Result."""
    found = [event for event in events if isinstance(event, Result)]
    if len(found) != 1 or events[-1] is not found[0]:
        raise AssertionError(f"one Result, at the end, was expected; the kinds are {kinds(events)}")
    return found[0]


def transitions(ending: Terminal) -> tuple[str, ...]:
    """The reasons of the passes before the end, in order."""
    return tuple(step.reason for step in ending.transitions)


def log_lines(events: Iterable[Event]) -> tuple[str, ...]:
    """The run for a reader, one line an event and deltas left out: its kind, and what tells it from others of that kind. No ids,
    no texts of the engine and no times, so that a stored log changes only when the course of the run does.
    """
    return tuple(_line(event) for event in without_deltas(events) if not isinstance(event, ToolOutput))


def _line(event: Event) -> str:
    details = _said(event) or _happened(event)
    return " ".join((kind(event), *(part for part in details if part)))


def _said(event: Event) -> tuple[str, ...]:
    """Of a message: whose it is, and its blocks."""
    match event:
        case AssistantEvent(message) if message.is_error:
            return ("error",)
        case AssistantEvent(message):
            return tuple(_block(block) for block in message.content)
        case UserEvent(message) if message.is_meta:
            return (message.origin,)
        case UserEvent(message):
            return (message.origin, *(_block(block) for block in message.content))
        case SystemEvent(message):
            return (message.subtype,)
        case AttachmentEvent(message):
            return (str(type(message.attachment).__struct_config__.tag),)
        case _:
            return ()


def _happened(event: Event) -> tuple[str, ...]:
    match event:
        case RequestStart():
            return (event.model, f"turn={event.turn_count}")
        case ToolStart():
            return (event.tool_use_id, event.name)
        case ToolEnd():
            return (event.tool_use_id, event.name, event.outcome)
        case ResponseUsage():
            return (event.model, event.stop_reason)
        case Transition(step):
            return (step.reason, "" if step.attempt is None else f"attempt={step.attempt}")
        case Terminal():
            return (event.reason, f"turn={event.turn_count}", event.error_kind)
        case _:
            return ()


def _block(block: object) -> str:
    match block:
        case ToolUse():
            return f"call:{block.name}:{block.id}"
        case ToolResult():
            return f"result:{block.tool_use_id}" + (":error" if block.is_error else "")
        case Text():
            return "text"
        case _:
            return type(block).__name__.lower()

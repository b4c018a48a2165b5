"""Short readings of a run, for assertions: which kinds of events came, and why the passes went on."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from ostinato.events import Event, Result, StreamEvent, Terminal, ToolOutput

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

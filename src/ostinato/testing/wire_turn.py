"""What only a wire can do, as values: any HTTP answer, literal bytes, and the ways a connection goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ostinato.testing.gate import Gate
from ostinato.testing.script import Turn

CutEnd = Literal["clean", "drop", "reset"]
"""How a cut body ends: `clean` ends the HTTP body as if all were well (a bare EOF), `drop` closes the connection in the
middle of the body, `reset` resets it."""


@dataclass(frozen=True, slots=True)
class HttpError:
    """Any answer: a mapping is sent as JSON, text and bytes as they are."""

    status: int
    body: Mapping[str, object] | str | bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class RawStream:
    """These bytes as the body of a stream: what a test must say to the byte. The body ends cleanly after them."""

    data: bytes
    status: int = 200
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True)
class OnWire:
    """A turn with faults of its connection. Counts are of the body: bytes without HTTP framing, events as the wire sends them.

    `before_head` and `delay_s` hold the status line back; `event_delay_s` comes before each event. `split_bytes` sends the
    body in pieces of that size (1: byte by byte). `cut_after_bytes` and `cut_after_events` end it as `cut_end` says;
    `stall_after_bytes` and `stall_after_events` keep the connection open without another byte, or with `heartbeat` every
    `heartbeat_every_s`, until the client or the server leaves. `without_end_mark` leaves out `message_stop` or `[DONE]`.
    """

    turn: "Turn | HttpError | RawStream"
    before_head: Gate | None = None
    delay_s: float = 0.0
    event_delay_s: float = 0.0
    split_bytes: int | None = None
    cut_after_bytes: int | None = None
    cut_after_events: int | None = None
    cut_end: CutEnd = "drop"
    stall_after_bytes: int | None = None
    stall_after_events: int | None = None
    heartbeat: bytes = b""
    heartbeat_every_s: float = 0.02
    without_end_mark: bool = False
    content_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


WireTurn = Turn | HttpError | RawStream | OnWire


def heartbeats(
    turn: Turn, *, after_events: int, every_s: float = 0.02, beat: bytes = b": keepalive\n\n"
) -> OnWire:
    """A stream that stalls but keeps its connection warm with comments."""
    return OnWire(turn, stall_after_events=after_events, heartbeat=beat, heartbeat_every_s=every_s)

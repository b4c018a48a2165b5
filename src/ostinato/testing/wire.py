"""A wire as the strict server needs it: what it refuses, how its errors look, how a reply is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

import msgspec

from ostinato.events import AnyModelEvent
from ostinato.messages import AssistantBlock
from ostinato.testing.script import Reply
from ostinato.testing.wire_rules import Problem, WireRules


@dataclass(frozen=True, slots=True)
class WireError:
    """An error before it has a shape; `type` None means the wire's usual one for that status."""

    status: int
    message: str
    type: str | None = None
    code: str | None = None
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Answering:
    """The reply that is being written: its names, its blocks, and whether the client asked for usage in the stream."""

    response_id: str
    model: str
    blocks: Sequence[AssistantBlock]
    wants_usage: bool = True
    numbers: Iterator[int] = field(default_factory=count)
    """For wires that number their events."""


class Wire(Protocol):
    request_id_header: str

    def problems(self, body: dict[str, Any], rules: WireRules) -> tuple[Problem, ...]: ...

    def error_body(self, error: WireError) -> dict[str, Any]: ...

    def error_event(self, error: WireError) -> bytes:
        """An error inside a stream that began with 200."""
        ...

    def events(self, event: AnyModelEvent, answering: Answering) -> tuple[bytes, ...]:
        """The wire's own events for one of ours; the end mark is the last of a reply."""
        ...

    def whole(self, reply: Reply, answering: Answering) -> dict[str, Any]:
        """The reply without streaming."""
        ...

    def key_in(self, headers: Mapping[str, str]) -> str:
        """The API key of a request; empty if there is none. Header names are in lower case."""
        ...

    def key_error(self, key: str) -> WireError: ...

    def model_error(self, model: str) -> WireError: ...


def server_sent(data: object, event: str | None = None) -> bytes:
    """One server-sent event whose data is JSON."""
    head = b"" if event is None else f"event: {event}\n".encode()
    return head + b"data: " + msgspec.json.encode(data) + b"\n\n"

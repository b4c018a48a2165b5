"""From a turn to what goes over the wire: status, headers and the frames of the body."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import assert_never

import msgspec

from ostinato.errors import ModelError
from ostinato.events import MessageStop
from ostinato.testing.gate import Gate
from ostinato.testing.script import Cut, Fails, Reply, steps
from ostinato.testing.wire import Answering, Wire, WireError
from ostinato.testing.wire_body import Frame
from ostinato.testing.wire_turn import HttpError, OnWire, RawStream, WireTurn

STATUS_OF_KIND = {
    "authentication": 401,
    "billing": 402,
    "permission": 403,
    "not_found": 404,
    "request_too_large": 413,
    "rate_limit": 429,
    "server": 500,
    "timeout": 504,
    "overloaded": 529,
}
EVENT_STREAM = "text/event-stream; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Called:
    """How the client asked: its wire, the model it named, and whether it wants a stream with usage in it."""

    wire: Wire
    model: str
    response_id: str
    request_id: str
    is_streaming: bool
    wants_usage: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A head and a way to write the body. `drops` closes the connection without any answer."""

    status: int
    headers: dict[str, str]
    frames: Iterator[Frame]
    faults: OnWire
    drops: bool = False
    cuts: bool = False


def answer_for(turn: WireTurn, called: Called) -> Answer:
    """What to send for this turn."""
    faults = turn if isinstance(turn, OnWire) else OnWire(turn)
    inner = faults.turn
    match inner:
        case HttpError():
            body = _bytes_of(inner)
            answer = Answer(
                inner.status, {"content-type": inner.content_type, **inner.headers}, iter((body,)), faults
            )
        case RawStream():
            answer = Answer(inner.status, {"content-type": inner.content_type}, iter((inner.data,)), faults)
        case Fails():
            answer = _failed(inner, called, faults)
        case Reply() | Cut():
            answer = (
                _streamed(inner, called, faults) if called.is_streaming else _whole(inner, called, faults)
            )
        case _:
            assert_never(inner)
    headers = {called.wire.request_id_header: called.request_id, **answer.headers, **faults.headers}
    if faults.content_type is not None:
        headers["content-type"] = faults.content_type
    return replace(answer, headers=headers)


def error_answer(error: WireError, wire: Wire) -> HttpError:
    """A refusal in the wire's own shape."""
    return HttpError(error.status, wire.error_body(error))


def wire_error(error: ModelError, status: int | None = None) -> WireError:
    """An error of the loop's kind as a provider would have sent it."""
    known = error.status or status or STATUS_OF_KIND.get(error.kind, 400)
    return WireError(known, error.message, code=error.provider_code or None)


def _bytes_of(answer: HttpError) -> bytes:
    if isinstance(answer.body, bytes):
        return answer.body
    return answer.body.encode() if isinstance(answer.body, str) else msgspec.json.encode(dict(answer.body))


def _failed(turn: Fails, called: Called, faults: OnWire) -> Answer:
    failure = wire_error(turn.error)
    headers = {"content-type": JSON}
    if turn.error.retry_after_s is not None:
        headers["retry-after"] = f"{turn.error.retry_after_s:g}"
    drops = turn.error.kind in {"connection", "stream_cut"} and turn.error.status is None
    body = msgspec.json.encode(called.wire.error_body(failure))
    held = faults if turn.before is None else replace(faults, before_head=turn.before)
    return Answer(failure.status, headers, iter((body,)), held, drops=drops)


def _streamed(turn: Reply | Cut, called: Called, faults: OnWire) -> Answer:
    cuts = isinstance(turn, Cut) and turn.error is None
    return Answer(
        200, {"content-type": EVENT_STREAM}, _stream_frames(turn, called, faults), faults, cuts=cuts
    )


def _stream_frames(turn: Reply | Cut, called: Called, faults: OnWire) -> Iterator[Frame]:
    reply = turn.reply if isinstance(turn, Cut) else turn
    answering = Answering(called.response_id, called.model, reply.blocks, called.wants_usage)
    for step in steps(turn, response_id=called.response_id, provider="", model=called.model):
        if isinstance(step, Gate):
            yield step
            continue
        events = called.wire.events(step, answering)
        yield from events[:-1] if faults.without_end_mark and isinstance(step, MessageStop) else events
    if isinstance(turn, Cut) and turn.error is not None:
        yield called.wire.error_event(wire_error(turn.error, 529))


def _whole(turn: Reply | Cut, called: Called, faults: OnWire) -> Answer:
    reply = turn.reply if isinstance(turn, Cut) else turn
    answering = Answering(called.response_id, called.model, reply.blocks)
    body = msgspec.json.encode(called.wire.whole(reply, answering))
    if isinstance(turn, Cut):
        # Without events there is only one way to break off: in the middle of the body.
        return Answer(200, {"content-type": JSON}, iter((body[: len(body) // 2],)), faults, cuts=True)
    gates: list[Frame] = [part for part in reply.parts if isinstance(part, Gate)]
    return Answer(200, {"content-type": JSON}, iter([*gates, body]), faults)

"""What counts as waiting for a reply, and what happens when it was too long: first on paper, then over a real connection."""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest
from tests.providers import anthropic_stream
from tests.providers.requests import facts, failure_of, read_all, request

from ostinato.errors import ConfigurationError, ModelError
from ostinato.events import AnyModelEvent, MessageStop
from ostinato.providers.anthropic import AnthropicModel, AnthropicReply
from ostinato.providers.calls import CallIds
from ostinato.providers.deadlines import Deadlines, deadlines_from, variable_of
from ostinato.providers.exchange import HttpFailure, HttpSettings
from ostinato.providers.openai_chat import OpenAIChatModel
from ostinato.providers.openai_responses import OpenAIResponsesModel
from ostinato.providers.streaming import EventBatches
from ostinato.providers.watchdog import Watchdog
from ostinato.testing import FakeClock, Gate, OnWire, Reply, StrictServer, heartbeats, say

LIMITS = Deadlines(first_byte_s=10, idle_s=5, total_s=20, whole_reply_s=30)
URL = "http://h/v1/x"

# ------------------------------------------------------------------------------------------------ on paper


def watchdog(*steps: float | str, is_streamed: bool = True) -> Watchdog:
    """After these steps: seconds of waiting, or an event."""
    dog = Watchdog(LIMITS, is_streamed=is_streamed)
    for step in steps:
        if isinstance(step, str):
            dog.came(after_s=0.0)
        else:
            dog.waited(step)
    return dog


@pytest.mark.parametrize(
    ("steps", "left_s", "kind", "named"),
    [
        ((), 10, "timeout", "10 s"),
        ((4.0, 3.0), 3, "timeout", "10 s"),
        ((4.0, "event"), 5, "stalled", "5 s"),
        ((4.0, "event", 2.0, 1.0), 2, "stalled", "5 s"),
        (("event", 4.0, "event", 4.0, "event"), 5, "stalled", "5 s"),
        ((4.0, "event", 4.0, "event", 4.0, "event", 4.0, "event"), 4, "timeout", "20 s"),
        ((4.0, "event", 9.0), 0, "stalled", "5 s"),
    ],
)
def test_the_nearest_limit_counts_and_only_waiting_uses_it(
    steps: Sequence[float | str], left_s: float, kind: str, named: str
):
    dog = watchdog(*steps)
    error = dog.error(URL)
    assert dog.left_s == left_s
    assert (error.kind, error.retry) == (kind, True)
    assert named in error.message
    assert "OSTINATO_" in error.hint


def test_a_reply_in_one_piece_has_a_limit_of_its_own():
    assert watchdog(12.0, is_streamed=False).left_s == 18
    turned = watchdog(12.0)
    turned.is_whole()
    assert turned.left_s == 18


@pytest.mark.parametrize(
    ("steps", "is_fresh"),
    [
        ((), False),
        (("event",), True),
        (("event", 1.0), False),
        (("event", 4.0, "event"), True),
        ((4.0, "event") * 4, False),
    ],
)
def test_a_timer_of_our_own_is_needed_unless_an_event_has_just_come(
    steps: Sequence[float | str], is_fresh: bool
):
    assert watchdog(*steps).is_fresh is is_fresh


def test_limits_come_from_the_environment():
    wished = deadlines_from({"OSTINATO_IDLE_TIMEOUT_S": "2.5", "OSTINATO_TOTAL_TIMEOUT_S": " "}, LIMITS)
    assert wished == Deadlines(first_byte_s=10, idle_s=2.5, total_s=20, whole_reply_s=30)
    assert variable_of("first_byte_s") == "OSTINATO_FIRST_BYTE_TIMEOUT_S"
    for nonsense in ("soon", "0", "-1", "nan", "inf"):
        with pytest.raises(ConfigurationError) as caught:
            deadlines_from({"OSTINATO_IDLE_TIMEOUT_S": nonsense})
        assert "OSTINATO_IDLE_TIMEOUT_S" in caught.value.message


class PlayedReply:
    """Brings these chunks, each after so many seconds of a clock that only it and the consumer move."""

    url = URL
    request_id = ""

    def __init__(self, chunks: Sequence[bytes], clock: FakeClock, *, takes_s: float) -> None:
        self._chunks = list(chunks)
        self._clock = clock
        self._takes_s = takes_s

    async def next_chunk(self) -> bytes | None:
        self._clock.advance(self._takes_s)
        return self._chunks.pop(0) if self._chunks else None

    def failure(self, body: bytes) -> HttpFailure:
        raise AssertionError("nothing was refused")


def unexpected(refused: HttpFailure) -> ModelError:
    raise AssertionError(refused)


def played(chunks: Sequence[bytes], clock: FakeClock, dog: Watchdog) -> EventBatches:
    """A reply whose chunks take a second each."""
    decoder = AnthropicReply(facts("anthropic"), CallIds(()))
    reply = PlayedReply(chunks, clock, takes_s=1.0)
    return EventBatches(reply, decoder, unexpected, dog, now_s=clock.monotonic_s)


async def test_a_consumer_that_takes_its_time_uses_none_of_it():
    clock, dog = FakeClock(), Watchdog(LIMITS, is_streamed=True)
    chunks = [event + b"\n\n" for event in anthropic_stream.SIMPLE.split(b"\n\n")]
    got: list[AnyModelEvent] = []
    async for batch in played(chunks, clock, dog):
        got += batch
        clock.advance(1000.0)
    assert isinstance(got[-1], MessageStop)
    assert dog.left_s == LIMITS.idle_s


async def test_a_reply_that_turns_out_to_come_in_one_piece_has_the_limit_of_one():
    clock, dog = FakeClock(), Watchdog(LIMITS, is_streamed=True)
    whole = b'{"id": "msg_1", "content": [{"type": "text", "text": "hi"}]}'
    async for batch in played([whole[:9], whole[9:]], clock, dog):
        assert isinstance(batch[-1], MessageStop)
    assert dog.left_s == LIMITS.whole_reply_s - 3


# ------------------------------------------------------------------------------------------------ over a connection

SHORT_S, LONG_S = 0.05, 30.0
PATIENT = {"first_byte_s": LONG_S, "idle_s": LONG_S, "total_s": LONG_S}
REPLY = Reply(say("hello world, hello world"))
PING = b'event: ping\ndata: {"type": "ping"}\n\n'

Wires = Mapping[str, type[AnthropicModel | OpenAIChatModel | OpenAIResponsesModel]]
WIRES: Wires = {"anthropic": AnthropicModel, "chat": OpenAIChatModel, "responses": OpenAIResponsesModel}
every_wire = pytest.mark.parametrize("wire", WIRES)


def model_at(url: str, wire: str, **limits: float) -> AnthropicModel | OpenAIChatModel | OpenAIResponsesModel:
    settings = HttpSettings(deadlines=Deadlines(**(PATIENT | limits)))
    return WIRES[wire](
        facts("anthropic" if wire == "anthropic" else "openai"), base_url=url, settings=settings
    )


async def ends_with(turn: OnWire, wire: str, **limits: float) -> tuple[str, bool]:
    """Kind and retry of what the call fails with; it takes far less than the patient limits."""
    with StrictServer(turn) as server, anyio.fail_after(LONG_S / 3):
        model = model_at(server.url, wire, **limits)
        error = await failure_of(model, request())
        await model.aclose()
    return error.kind, error.retry


@every_wire
async def test_a_server_that_never_answers_is_a_timeout(wire: str):
    assert await ends_with(OnWire(REPLY, before_head=Gate()), wire, first_byte_s=SHORT_S) == ("timeout", True)


@every_wire
async def test_a_head_and_comments_are_no_answer_yet(wire: str):
    turn = heartbeats(REPLY, after_events=0)
    assert await ends_with(turn, wire, first_byte_s=SHORT_S) == ("timeout", True)


@every_wire
async def test_silence_in_the_middle_of_a_reply_is_a_stall(wire: str):
    assert await ends_with(OnWire(REPLY, stall_after_events=3), wire, idle_s=SHORT_S) == ("stalled", True)


@every_wire
async def test_comments_do_not_keep_a_stalled_reply_alive(wire: str):
    turn = heartbeats(REPLY, after_events=3)
    assert await ends_with(turn, wire, idle_s=SHORT_S) == ("stalled", True)


async def test_pings_keep_a_reply_alive_until_it_has_taken_too_long():
    turn = heartbeats(REPLY, after_events=3, beat=PING, every_s=0.01)
    assert await ends_with(turn, "anthropic", idle_s=SHORT_S, total_s=5 * SHORT_S) == ("timeout", True)


@every_wire
async def test_a_reply_that_drips_for_ever_ends_at_the_total(wire: str):
    turn = OnWire(REPLY, event_delay_s=0.02)
    assert await ends_with(turn, wire, total_s=SHORT_S) == ("timeout", True)


@every_wire
async def test_a_reply_in_one_piece_that_does_not_come_is_a_timeout(wire: str):
    with StrictServer(OnWire(REPLY, stall_after_bytes=20)) as server, anyio.fail_after(LONG_S / 3):
        model = model_at(server.url, wire, whole_reply_s=SHORT_S)
        error = await failure_of(model, request(wants_stream=False))
        await model.aclose()
    assert (error.kind, error.retry) == ("timeout", True)


async def test_a_limit_that_was_hit_leaves_the_next_call_alone():
    with StrictServer(OnWire(REPLY, stall_after_events=3), REPLY) as server:
        model = model_at(server.url, "anthropic", idle_s=SHORT_S)
        await failure_of(model, request())
        assert (await read_all(model, request()))[-1:] != []
        await model.aclose()


async def test_an_address_that_swallows_connections_is_a_connection_that_failed():
    # TEST-NET-1: nobody answers there, or the network says at once that there is no way.
    with anyio.fail_after(LONG_S / 3):
        model = model_at("http://192.0.2.1:9", "anthropic", connect_s=SHORT_S)
        error: Any = await failure_of(model, request())
        await model.aclose()
    assert (error.kind, error.retry) == ("connection", True)

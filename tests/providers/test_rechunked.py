"""However the network cuts a reply, and whatever ends its lines, the same events come out: every wire, every byte."""

from collections.abc import Callable, Iterable

import pytest
from tests.providers import anthropic_stream, openai_stream, responses_stream
from tests.providers.requests import decode, facts

from ostinato.events import AnyModelEvent
from ostinato.providers.anthropic import AnthropicReply
from ostinato.providers.calls import CallIds
from ostinato.providers.openai_chat import OpenAIChatReply
from ostinato.providers.openai_responses import OpenAIResponsesReply
from ostinato.providers.streaming import ReplyDecoder

Decoders = Callable[[], ReplyDecoder]

WIRES: dict[str, tuple[Decoders, bytes, bytes]] = {
    "anthropic": (
        lambda: AnthropicReply(facts("anthropic"), CallIds(())),
        anthropic_stream.SIMPLE,
        anthropic_stream.GOLDEN,
    ),
    "chat": (
        lambda: OpenAIChatReply(facts("openai"), CallIds(()), 1000),
        openai_stream.SIMPLE,
        openai_stream.GOLDEN,
    ),
    "responses": (
        lambda: OpenAIResponsesReply(facts("openai"), CallIds(())),
        responses_stream.SIMPLE,
        responses_stream.GOLDEN,
    ),
}
LINE_ENDS = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}

every_wire = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())
every_line_end = pytest.mark.parametrize("line_end", LINE_ENDS.values(), ids=LINE_ENDS.keys())


def cut(stream: bytes, size: int) -> list[bytes]:
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def tender_places(stream: bytes) -> Iterable[int]:
    """Where a cut is most likely to hurt: in and beside line ends, and inside of characters."""
    return (
        place
        for place in range(1, len(stream))
        if any(byte in b"\r\n" or byte > 127 for byte in stream[place - 1 : place + 1])
    )


@every_wire
@every_line_end
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_of_any_size(wire: tuple[Decoders, bytes, bytes], line_end: bytes, size: int):
    decoder, simple, golden = wire
    for stream in (simple, golden):
        assert decode(decoder(), cut(stream.replace(b"\n", line_end), size)) == decode(decoder(), [stream])


@every_wire
@every_line_end
def test_one_cut_at_every_byte_of_a_small_reply(wire: tuple[Decoders, bytes, bytes], line_end: bytes):
    decoder, simple, _ = wire
    _same_at(decoder, simple, line_end, lambda stream: range(1, len(stream)))


@every_wire
@every_line_end
def test_one_cut_at_every_tender_byte_of_a_rich_reply(wire: tuple[Decoders, bytes, bytes], line_end: bytes):
    decoder, _, golden = wire
    _same_at(decoder, golden, line_end, tender_places)


def _same_at(
    decoder: Decoders, stream: bytes, line_end: bytes, places: Callable[[bytes], Iterable[int]]
) -> None:
    expected: list[AnyModelEvent] = decode(decoder(), [stream])
    framed = stream.replace(b"\n", line_end)
    for place in places(framed):
        assert decode(decoder(), [framed[:place], framed[place:]]) == expected, place

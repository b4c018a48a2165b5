"""However the network cuts a reply, and whatever ends its lines, the same events come out: every wire, every byte."""

from collections.abc import Callable, Iterable

import pytest
from tests.providers.requests import decode
from tests.providers.wires import WIRES, Wire

from ostinato.events import AnyModelEvent

LINE_ENDS = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}

every_wire = pytest.mark.parametrize("wire", WIRES)
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
def test_pieces_of_any_size(wire: str, line_end: bytes, size: int):
    chosen = WIRES[wire]
    for stream in (chosen.simple, chosen.golden):
        framed = stream.replace(b"\n", line_end)
        assert decode(chosen.decoder(()), cut(framed, size)) == decode(chosen.decoder(()), [stream])


@every_wire
@every_line_end
def test_one_cut_at_every_byte_of_a_small_reply(wire: str, line_end: bytes):
    _same_at(WIRES[wire], WIRES[wire].simple, line_end, lambda stream: range(1, len(stream)))


@every_wire
@every_line_end
def test_one_cut_at_every_tender_byte_of_a_rich_reply(wire: str, line_end: bytes):
    _same_at(WIRES[wire], WIRES[wire].golden, line_end, tender_places)


def _same_at(wire: Wire, stream: bytes, line_end: bytes, places: Callable[[bytes], Iterable[int]]) -> None:
    expected: list[AnyModelEvent] = decode(wire.decoder(()), [stream])
    framed = stream.replace(b"\n", line_end)
    for place in places(framed):
        assert decode(wire.decoder(()), [framed[:place], framed[place:]]) == expected, place

"""A character that a server cut in two over its deltas is whole again; a call that holds half of one is never run."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.providers.requests import blocks_of, decode
from tests.providers.test_reply_grammar import check_grammar
from tests.providers.wires import WIRES, Call

from ostinato.events import AnyModelEvent, InputJsonDelta, TextDelta
from ostinato.messages import Text, ToolUse

every_wire = pytest.mark.parametrize("wire", WIRES)
HIGH, LOW = "\ud83d", "\ude00"
SMILE = "\U0001f600"


def read(wire: str, stream: bytes) -> list[AnyModelEvent]:
    events = decode(WIRES[wire].decoder(()), [stream])
    check_grammar(events, is_complete=True)
    return events


def text_of(wire: str, *pieces: str) -> str:
    events = read(wire, WIRES[wire].text(pieces))
    (block,) = blocks_of(events)
    assert isinstance(block, Text)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == block.text
    return block.text


def call_of(wire: str, *pieces: str) -> ToolUse:
    events = read(wire, WIRES[wire].calls([Call("call_1", "Bash", pieces)]))
    for event in events:
        if isinstance(event, InputJsonDelta):
            event.partial_json.encode()
    (block,) = blocks_of(events)
    assert isinstance(block, ToolUse)
    return block


@every_wire
@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((f"x{HIGH}", f"{LOW}y"), f"x{SMILE}y"),
        ((f"x{HIGH}", LOW, "y"), f"x{SMILE}y"),
        ((HIGH, f"{LOW}{HIGH}", f"{LOW}"), SMILE * 2),
        ((f"x{HIGH}{LOW}y",), f"x{SMILE}y"),
        # A half that stays alone, wherever: it is marked as damage, and nothing else is lost.
        ((f"x{HIGH}", "y"), "x\ufffdy"),
        ((f"x{LOW}", "y"), "x\ufffdy"),
        ((f"x{HIGH}",), "x\ufffd"),
        ((f"x{HIGH}\n", f"{LOW}y"), "x\ufffd\n\ufffdy"),
        ((f"x{LOW}{HIGH}", f"{HIGH}{LOW}y"), f"x\ufffd\ufffd{SMILE}y"),
    ],
)
def test_halves_of_a_character_in_two_deltas_are_one_character(wire: str, pieces: Sequence[str], text: str):
    assert text_of(wire, *pieces) == text


@every_wire
@given(
    text=st.text(st.sampled_from(["a", "é", SMILE, "𝒳", '"', "\\", "\n"]), min_size=1), cut=st.integers(0, 40)
)
def test_a_text_cut_between_any_two_halves_comes_through(wire: str, text: str, cut: int):
    halves = text.encode("utf-16-le")
    place = 2 * (cut % (len(halves) // 2))
    pieces = [part.decode("utf-16-le", "surrogatepass") for part in (halves[:place], halves[place:])]
    assert text_of(wire, *[piece for piece in pieces if piece]) == text


@every_wire
def test_the_arguments_of_a_call_come_whole(wire: str):
    pieces = (f'{{"command": "printf %s {HIGH}', f'{LOW} >> log", "n": 1.50}}')
    assert call_of(wire, *pieces).input == {"command": f"printf %s {SMILE} >> log", "n": 1.5}
    escaped = (r'{"command": "printf %s \ud83d', r'\ude00 >> log"}')
    assert call_of(wire, *escaped).input == {"command": f"printf %s {SMILE} >> log"}


@every_wire
@pytest.mark.parametrize(
    "pieces",
    [
        (f'{{"command": "rm a{HIGH}', 'b"}'),
        (f'{{"command": "rm a{LOW}b"}}',),
        (f'{{"{HIGH}": 1}}',),
        (f'{{"a": [{{"b": "{HIGH}"}}]}}',),
        (r'{"command": "rm a\ud83d', 'b"}'),
        (r'{"command": "rm a\ude00b"}',),
    ],
)
def test_a_call_that_holds_half_a_character_is_not_run_with_another(wire: str, pieces: Sequence[str]):
    found = call_of(wire, *pieces)
    assert (found.id, found.name, found.input) == ("call_1", "Bash", {})
    assert found.invalid_input is not None
    found.invalid_input.encode()


@every_wire
def test_bytes_that_are_no_text_damage_a_text_and_refuse_a_call(wire: str):
    stream = WIRES[wire].text(["aXb"]).replace(b"X", b"\xff")
    assert blocks_of(read(wire, stream)) == [Text("a\ufffdb")]
    stream = WIRES[wire].calls([Call("call_1", "Bash", ['{"command": "rm aXb"}'])]).replace(b"X", b"\xff")
    (block,) = blocks_of(read(wire, stream))
    assert isinstance(block, ToolUse)
    assert (block.input, block.invalid_input is None) == ({}, False)


@every_wire
def test_private_characters_are_nobodys_halves_in_a_reply_without_any(wire: str):
    assert text_of(wire, "a\U0010f83db") == "a\U0010f83db"

"""The very same call sent twice in one reply is one call; another call under its id is another, with an id of its own."""

import pytest
from tests.providers.requests import blocks_of, decode
from tests.providers.wires import WIRES, Call

from ostinato.loop.reply import Reply
from ostinato.messages import ToolUse
from ostinato.ports import RequestMessage
from ostinato.testing import CountingIds

every_wire = pytest.mark.parametrize("wire", WIRES)
RUN = Call("call_1", "Bash", ['{"command": "echo', ' A >> log"}'])
SAME_IN_OTHER_PIECES = Call("call_1", "Bash", ['{ "command":"echo A', ' >> log" }'])
UNREADABLE = Call("call_1", "Bash", ['{"command": "echo'])


def calls_of(wire: str, *calls: Call, after: tuple[RequestMessage, ...] = ()) -> list[ToolUse]:
    """The calls that would run."""
    reply = Reply("m")
    for event in decode(WIRES[wire].decoder(after), [WIRES[wire].calls(calls)]):
        reply.take(event, CountingIds())
    return reply.tool_use_blocks


@every_wire
@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ((RUN, RUN), 1),
        ((RUN, RUN, RUN), 1),
        ((RUN, SAME_IN_OTHER_PIECES), 1),
        ((UNREADABLE, UNREADABLE), 1),
        ((RUN, Call("call_2", "Look", ["{}"]), RUN), 2),
        ((Call("not a legal id", "Bash", RUN.pieces), Call("not a legal id", "Bash", RUN.pieces)), 1),
        # Another name, another input, or no id at all that could tell: other calls.
        ((RUN, Call("call_1", "Bash", ['{"command": "echo B >> log"}'])), 2),
        ((RUN, Call("call_1", "Look", RUN.pieces)), 2),
        ((RUN, Call("call_2", "Bash", RUN.pieces)), 2),
        ((RUN, UNREADABLE), 2),
    ],
)
def test_the_same_call_sent_again_runs_once_and_another_under_its_id_runs_too(
    wire: str, calls: tuple[Call, ...], count: int
):
    found = calls_of(wire, *calls)
    assert len(found) == count
    assert len({call.id for call in found}) == count


@every_wire
def test_a_call_whose_id_the_conversation_knows_already_is_sent_twice_and_runs_once(wire: str):
    before = (RequestMessage("assistant", (ToolUse("call_1", "Bash", {}),)),)
    (call,) = calls_of(wire, RUN, RUN, after=before)
    assert call.id != "call_1"


@every_wire
def test_every_block_that_started_also_stops(wire: str):
    decoder = WIRES[wire].decoder(())
    first, second = blocks_of(decode(decoder, [WIRES[wire].calls([RUN, RUN])]))
    assert first == second

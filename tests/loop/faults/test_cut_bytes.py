"""Each reply of each scenario cut after each of its bytes, as its wire brings it, the connection ending in order or not.

Every cut is read by the real reader of the wire. What the loop hears then is one of few courses, as it hears of whole events
only; each different course is played once, with all of the loop. Where those are many, the usual run plays a choice, and
`OSTINATO_EXHAUSTIVE=1` all.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import pytest
from msgspec.structs import replace
from tests.loop.faults.driver import Striker, check, play
from tests.loop.faults.wired import WIRES, Course, End, Line, TwoEnds, courses, wired_deps
from tests.loop.scenarios import SCENARIOS, WITHIN_A_PASS, takes_steps
from tests.loop.scene import Scene
from tests.thoroughness import spread

from ostinato.events import AssistantEvent
from ostinato.messages import AssistantMessage, Text, ToolUse
from ostinato.ports import ModelRequest
from ostinato.state import QueryConfig
from ostinato.testing import FakeClock, Reply, ScriptedModel, call, fake_tool, say


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what differs between the two is the subject of other tests."""
    return "asyncio"


async def different_ends(make: Callable[[], Scene], ends: TwoEnds) -> dict[Course, End]:
    """All cuts of all replies, one for each course that they lead to."""
    line = Line(ends)
    check(await play(make(), Striker(), partial(wired_deps, line=line)))
    found: dict[Course, End] = {}
    for number, sent in enumerate(line.sent):
        for course, end in courses(ends, sent, number):
            found.setdefault(course, end)
    assert len(found) >= sum(
        len(sent.chunks) for sent in line.sent
    )  # whole events at the least are told apart
    return found


RUNS = [
    *((name, "anthropic") for name in SCENARIOS),
    *((name, wire) for name in WITHIN_A_PASS for wire in WIRES if wire != "anthropic"),
]
"""What follows a pass does not know of wires."""

MOST_CUTS: Final = 30


@pytest.mark.parametrize(("name", "wire"), RUNS)
async def test_a_query_whose_stream_is_cut_at_any_byte_keeps_its_promises(name: str, wire: str):
    ends = WIRES[wire]
    for end in spread([*(await different_ends(SCENARIOS[name], ends)).values()], MOST_CUTS):
        line = Line(ends, end)
        played = await play(SCENARIOS[name](), Striker(), partial(wired_deps, line=line))
        try:
            check(played)
        except AssertionError as error:
            raise AssertionError(f"{end}: {error}") from error


# ------------------------------------------------------------------ and nothing of an answer is lost


def a_look() -> list[Reply]:
    return [Reply(say("Grüße, ich schaue 👀"), call("Look", "a", path="ä")), Reply(say("done"))]


def an_answer() -> list[Reply]:
    return [Reply(say("first"), say("sécond"))]


def text_of(reply: Reply) -> str:
    return "".join(block.text for block in reply.blocks if isinstance(block, Text))


def asking(replies: Callable[[], list[Reply]]) -> Scene:
    """A model that says the same again when it is asked the same again, with new ids for its calls."""

    def script(request: ModelRequest, number: int) -> Reply:
        said = replies()[0 if len(request.messages) == 1 else 1].blocks
        return Reply(*(replace(b, id=f"{b.id}{number}") if isinstance(b, ToolUse) else b for b in said))

    made = Scene(ScriptedModel(script=script), config=QueryConfig(normalise_strictly=True, max_retries=3))
    made.clock = FakeClock(auto_advance=True)
    made.tools = [fake_tool("Look", takes_steps, log=made.log, is_read_only=True)]
    return made


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("replies", [an_answer, a_look])
async def test_a_reply_cut_after_any_byte_comes_whole_in_the_end(
    replies: Callable[[], list[Reply]], wire: str
):
    ends, make = WIRES[wire], partial(asking, replies)
    for end in (await different_ends(make, ends)).values():
        scene = make()
        played = await play(scene, Striker(), partial(wired_deps, line=Line(ends, end)))
        check(played)
        assert played.ends[0].reason == "completed", end
        assert not [e for e in played.events if isinstance(e, AssistantEvent) and e.message.is_error]
        view = played.scene.written.view()
        kept = [message.text for message in view if isinstance(message, AssistantMessage)]
        assert kept == [text_of(reply) for reply in replies()]

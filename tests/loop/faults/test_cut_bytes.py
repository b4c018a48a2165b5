"""A reply cut after each of its bytes, as the Messages wire brings it: the next attempt makes it whole, and nothing is done twice."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio.lowlevel
import pytest
from msgspec.structs import replace
from tests.loop.faults.driver import Striker, check, play, takes_steps
from tests.loop.scene import Scene

from ostinato.errors import ModelError
from ostinato.events import AnyModelEvent, AssistantEvent
from ostinato.history import History
from ostinato.messages import AssistantMessage, Text, ToolUse
from ostinato.ports import ModelRequest
from ostinato.providers.anthropic import AnthropicReply
from ostinato.providers.calls import CallIds
from ostinato.providers.deadlines import DEFAULT_DEADLINES
from ostinato.providers.exchange import HttpFailure
from ostinato.providers.streaming import EventBatches
from ostinato.providers.watchdog import Watchdog
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    FakeClock,
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    call,
    fake_tool,
    say,
)
from ostinato.testing.script import steps
from ostinato.testing.wire import Answering
from ostinato.testing.wire_anthropic import AnthropicWire

CONFIG = QueryConfig(normalise_strictly=True, max_retries=3)
PIECE_BYTES = 400


def wire_bytes(reply: Reply, number: int) -> bytes:
    """The reply as the Messages API sends it; ids of calls are new each time, as a model's are."""
    parts = [replace(b, id=f"{b.id}{number}") if isinstance(b, ToolUse) else b for b in reply.blocks]
    reply = Reply(*parts)
    wire, answering = AnthropicWire(), Answering(f"msg_{number}", SCRIPTED_FACTS.id, reply.blocks)
    events = steps(reply, response_id=f"msg_{number}", provider="anthropic", model=SCRIPTED_FACTS.id)
    sent = (wire.events(event, answering) for event in events if not isinstance(event, Gate))
    return b"".join(data for one in sent for data in one)


class Pieces:
    """A body that ends after its bytes, in an orderly way or not."""

    url = "http://wire"
    request_id = ""

    def __init__(self, body: bytes, *, resets: bool) -> None:
        self._pieces = [body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES)]
        self._resets = resets

    async def next_chunk(self) -> bytes | None:
        await anyio.lowlevel.checkpoint()
        if self._pieces:
            return self._pieces.pop(0)
        if self._resets:
            raise ModelError("reset", kind="stream_cut", retry=True)
        return None

    def failure(self, body: bytes) -> HttpFailure:
        return HttpFailure(self.url, 200, {}, body, datetime.now(UTC))


class WireModel(ScriptedModel):
    """Plays replies as bytes; the first attempt at the first reply ends after `cut_at` of them."""

    def __init__(self, *replies: Reply, cut_at: int | None, resets: bool) -> None:
        super().__init__(*replies)
        self._replies = list(replies)
        self._cut_at = cut_at
        self._resets = resets
        self._sent = 0

    @asynccontextmanager
    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[AsyncIterator[Sequence[AnyModelEvent]], None]:
        self.requests.append(request)
        self._sent += 1
        cut_at, self._cut_at = self._cut_at, None
        is_first = len(request.messages) == 1
        data = wire_bytes(self._replies[0 if is_first else 1], self._sent)
        pieces = Pieces(data[:cut_at], resets=self._resets and cut_at is not None)
        decoder = AnthropicReply(SCRIPTED_FACTS, CallIds(request.messages))
        yield EventBatches(pieces, decoder, _no_refusal, Watchdog(DEFAULT_DEADLINES, is_streamed=True))


def _no_refusal(failure: HttpFailure) -> ModelError:
    raise AssertionError(failure)


def a_look() -> list[Reply]:
    return [Reply(say("Grüße, ich schaue 👀"), call("Look", "a", path="ä")), Reply(say("done"))]


def an_answer() -> list[Reply]:
    return [Reply(say("first"), say("sécond"))]


def text_of(reply: Reply) -> str:
    return "".join(block.text for block in reply.blocks if isinstance(block, Text))


async def cut_everywhere(make: Callable[[], list[Reply]]) -> None:
    """Every other time the connection is reset, else it ends in order."""
    whole = len(wire_bytes(make()[0], 1))
    for cut_at in range(whole + 1):
        log = RunLog()
        model = WireModel(*make(), cut_at=cut_at, resets=bool(cut_at % 2))
        look = fake_tool("Look", takes_steps, log=log, is_read_only=True)
        scene = Scene(model, [look], config=CONFIG, clock=FakeClock(auto_advance=True))
        played = await play(scene, log, Striker())
        check(played)
        assert played.ends[0].reason == "completed", cut_at
        assert not [e for e in played.events if isinstance(e, AssistantEvent) and e.message.is_error]
        view = History.fold([*scene.params().messages.view(), *played.journal.records]).view()
        kept = [message.text for message in view if isinstance(message, AssistantMessage)]
        assert kept == [text_of(reply) for reply in make()]


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what differs between the two is the subject of other tests."""
    return "asyncio"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("make", [an_answer, a_look])
async def test_a_reply_cut_after_any_byte_comes_whole_in_the_end(make: Callable[[], list[Reply]]):
    await cut_everywhere(make)

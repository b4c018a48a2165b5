"""A scripted model behind a wire: what it says goes out as a server's bytes and comes back through the real reader of that wire,
up to the byte at which the connection ends.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate

import anyio.lowlevel
from msgspec.structs import replace
from tests.thoroughness import spread

from ostinato.errors import ModelError
from ostinato.events import AnyModelEvent, BlockStart, BlockStop, MessageStart
from ostinato.loop.deps import Deps
from ostinato.loop.model_call import CallModel
from ostinato.messages import AssistantBlock, Text, Thinking, ToolUse
from ostinato.ports import ModelRequest
from ostinato.providers.anthropic import AnthropicReply
from ostinato.providers.calls import CallIds
from ostinato.providers.deadlines import DEFAULT_DEADLINES
from ostinato.providers.exchange import HttpFailure
from ostinato.providers.openai_chat import OpenAIChatReply
from ostinato.providers.openai_responses import OpenAIResponsesReply
from ostinato.providers.streaming import BatchReader, EventBatches, ReplyDecoder
from ostinato.providers.watchdog import Watchdog
from ostinato.testing import SCRIPTED_FACTS
from ostinato.testing.wire import Answering, Wire
from ostinato.testing.wire_anthropic import AnthropicWire
from ostinato.testing.wire_openai import OpenAIWire
from ostinato.testing.wire_responses import ResponsesWire

Course = tuple[object, ...]
"""All that a reply is to the loop: which one it is, its batches, and how it ended."""

LONG_ID = "{}-0123456789ab"
"""A reader makes a new id of its own for a short one."""


@dataclass(frozen=True)
class TwoEnds:
    """A wire, from the server's side and from ours."""

    server: Wire
    reader: Callable[[CallIds], ReplyDecoder]


def chat_reader(ids: CallIds) -> ReplyDecoder:
    return OpenAIChatReply(SCRIPTED_FACTS, ids, 64_000)


def anthropic_reader(ids: CallIds) -> ReplyDecoder:
    return AnthropicReply(SCRIPTED_FACTS, ids)


def responses_reader(ids: CallIds) -> ReplyDecoder:
    return OpenAIResponsesReply(SCRIPTED_FACTS, ids)


WIRES = {
    "anthropic": TwoEnds(AnthropicWire(), anthropic_reader),
    "chat": TwoEnds(OpenAIWire(), chat_reader),
    "responses": TwoEnds(ResponsesWire(), responses_reader),
}


@dataclass(frozen=True)
class End:
    """Where the connection of request number `request` (from 0) ends: after so many bytes, in an orderly way or not."""

    request: int
    after_bytes: int
    is_reset: bool


@dataclass
class Sent:
    """One request and what was answered to it, in the chunks that came."""

    request: ModelRequest
    chunks: list[bytes] = field(default_factory=list[bytes])


@dataclass
class Line:
    """All connections of one run."""

    ends: TwoEnds
    end: End | None = None
    sent: list[Sent] = field(default_factory=list[Sent])


class Body:
    """The bytes of one reply up to where its connection ends."""

    url = "http://wire"
    request_id = ""

    def __init__(self, chunks: AsyncIterator[bytes], end: End | None) -> None:
        self._chunks = chunks
        self._end = end
        self._left = end.after_bytes if end else 0

    async def next_chunk(self) -> bytes | None:
        await anyio.lowlevel.checkpoint()
        if self._end is not None and self._left == 0:
            return self._over()
        chunk = await anext(self._chunks, None)
        if chunk is None or self._end is None:
            return chunk
        part = chunk[: self._left]
        self._left -= len(part)
        return part

    def _over(self) -> None:
        if self._end is not None and self._end.is_reset:
            raise ModelError("reset", kind="stream_cut", retry=True)

    def failure(self, body: bytes) -> HttpFailure:
        return HttpFailure(self.url, 200, {}, body, datetime.now(UTC))


def _no_refusal(failure: HttpFailure) -> ModelError:
    raise AssertionError(failure)


def decoded(ends: TwoEnds, request: ModelRequest, body: Body) -> EventBatches:
    decoder = ends.reader(CallIds(request.messages))
    return EventBatches(body, decoder, _no_refusal, Watchdog(DEFAULT_DEADLINES, is_streamed=True))


async def as_bytes(
    batches: AsyncIterator[Sequence[AnyModelEvent]], wire: Wire, sent: Sent
) -> AsyncGenerator[bytes, None]:
    blocks: list[AssistantBlock] = []
    answering = Answering("", "", blocks)
    async for batch in batches:
        chunk = b""
        for event in batch:
            if isinstance(event, MessageStart):
                answering = Answering(LONG_ID.format(event.response_id), event.model, blocks)
            elif isinstance(event, BlockStart):
                blocks.append(_begun(event))
            elif isinstance(event, BlockStop):
                blocks[event.index] = event.block
            chunk += b"".join(wire.events(event, answering))
        sent.chunks.append(chunk)
        yield chunk


def _begun(start: BlockStart) -> AssistantBlock:
    match start.block_type:
        case "tool_use":
            return ToolUse(start.tool_use_id, start.name, {})
        case "thinking" | "redacted_thinking":
            return Thinking("")
        case "text" | "server_block":  # no scenario has the latter
            return Text("")


def wired(inner: CallModel, line: Line) -> CallModel:
    @asynccontextmanager
    async def stream(
        request: ModelRequest,
    ) -> AsyncGenerator[AsyncIterator[Sequence[AnyModelEvent]], None]:
        number, sent = len(line.sent), Sent(request)
        line.sent.append(sent)
        end = line.end if line.end is not None and line.end.request == number else None
        async with inner(request) as batches, aclosing(as_bytes(batches, line.ends.server, sent)) as chunks:
            yield decoded(line.ends, request, Body(chunks, end))

    return stream


def wired_deps(deps: Deps, line: Line) -> Deps:
    chain = tuple(replace(one, call_model=wired(one.call_model, line)) for one in deps.fallbacks.substitutes)
    return replace(
        deps,
        call_model=wired(deps.call_model, line),
        fallbacks=replace(deps.fallbacks, substitutes=chain),
    )


def courses(ends: TwoEnds, sent: Sent, request: int) -> Iterator[tuple[Course, End]]:
    """What the loop hears of that reply, for each byte after which its connection may end (usually the ends of all chunks and a
    choice of bytes in between), and both ways to end. Two ends with the same course are one and the same run.
    """
    ends_of_chunks = [0, *accumulate(len(chunk) for chunk in sent.chunks)]
    between = spread(range(ends_of_chunks[-1]), 4 * len(sent.chunks))
    for after_bytes in sorted({*ends_of_chunks, *between}):
        decoder = ends.reader(CallIds(sent.request.messages))
        reader, heard = BatchReader(decoder), list[str]()
        for chunk in _cut(sent.chunks, after_bytes):
            _hear(reader, chunk, heard)
        reset, ended = [*heard], heard
        if not decoder.is_complete:
            reset.append("reset")
            _hear(reader, None, ended)
        yield (request, *reset), End(request, after_bytes, is_reset=True)
        yield (request, *ended), End(request, after_bytes, is_reset=False)


def _cut(chunks: Sequence[bytes], after_bytes: int) -> Iterator[bytes]:
    for chunk in chunks:
        if after_bytes > 0:
            yield chunk[:after_bytes]
        after_bytes -= len(chunk)


def _hear(reader: BatchReader, chunk: bytes | None, heard: list[str]) -> None:
    """As `EventBatches` gives them out: what was complete before a failure comes first."""
    batch: list[AnyModelEvent] = []
    failure = ""
    try:
        reader.take(chunk, batch)
    except ModelError as error:
        failure = f"{error.kind} {error.retry} {error.recover} {error.retry_after_s} {error.status}"
    heard.extend(said for said in (repr(batch) if batch else "", failure) if said)

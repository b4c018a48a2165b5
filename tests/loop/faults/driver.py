"""A driver that strikes a query at one chosen point: the n-th time the loop touches anything outside, that fails, the query is
aborted, or its consumer leaves. What must hold after it is checked in one place.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.context_pass import PassFacts
from ostinato.errors import JournalError, ModelError
from ostinato.events import (
    AnyModelEvent,
    AssistantEvent,
    Event,
    Terminal,
    Tombstone,
    UserEvent,
)
from ostinato.history import History
from ostinato.invariants import problems
from ostinato.loop.deps import Deps, DrainCollapsed, Shorten
from ostinato.loop.model_call import CallModel
from ostinato.loop.query import query
from ostinato.messages import AssistantMessage, Message, ToolResult, UserMessage
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import Allowed, Denied, Futile, ModelFacts, ModelRequest, PermissionQuery, Permissions
from ostinato.records import AnyEdit, Boundary, Ended, Fold, Record, Snip, ToolFinished, ToolStarted
from ostinato.stop_hooks import StopDecision, StopHook, Stopping
from ostinato.testing import SCRIPTED_FACTS, MemoryJournal, say
from ostinato.tool_hooks import AfterTool, AfterToolDecision, ToolRan

Strike = Literal["fail", "abort", "leave"]


class Struck(Exception):
    """The failure of a dependency that no contract foresees."""


@dataclass
class Striker:
    """Counts every touch. At number `at` (from 1; 0 for never) it does what `strike` says, once."""

    at: int = 0
    strike: Strike = "fail"
    touches: int = 0
    has_left: bool = False
    scene: Scene | None = None
    touched: list[str] = field(default_factory=list[str])

    @property
    def has_broken_disk(self) -> bool:
        """Nothing could be written any more; what the file holds is then the resume's business."""
        return self.strike == "fail" and self.touched[self.at - 1 : self.at] == ["write"]

    def touch(self, what: str, error: Exception | None = None) -> None:
        self.touches += 1
        self.touched.append(what)
        if self.touches != self.at:
            return
        if self.strike == "abort":
            assert self.scene is not None
            self.scene.abort.abort("user")
        elif self.strike == "leave":
            self.has_left = True
        else:
            raise error or Struck(what)


class StruckJournal(MemoryJournal):
    """A journal of which one write fails."""

    def __init__(self, striker: Striker) -> None:
        super().__init__()
        self._striker = striker

    def write(self, record: Record) -> None:
        self._striker.touch("write", JournalError("the disk is full"))
        super().write(record)

    async def sync(self) -> None:
        self._striker.touch("sync", JournalError("the disk is gone"))
        await super().sync()


@dataclass
class StruckGate:
    """A permission gate of which one answer fails."""

    inner: Permissions
    striker: Striker

    async def decide(self, query: PermissionQuery) -> Allowed | Denied | Futile:
        self.striker.touch("decide")
        return await self.inner.decide(query)


def struck_model(inner: CallModel, striker: Striker) -> CallModel:
    """A model whose connection breaks before the reply, or between any two of its batches."""

    @asynccontextmanager
    async def stream(
        request: ModelRequest,
    ) -> AsyncGenerator[AsyncIterator[Sequence[AnyModelEvent]], None]:
        striker.touch("connect", ModelError("no way", kind="connection", retry=True))
        async with inner(request) as batches:

            async def struck() -> AsyncGenerator[Sequence[AnyModelEvent], None]:
                async for batch in batches:
                    striker.touch("batch", ModelError("cut", kind="stream_cut", retry=True))
                    yield batch
                striker.touch("end", ModelError("cut", kind="stream_cut", retry=True))

            async with aclosing(struck()) as broken:
                yield broken

    return stream


def struck_shorten(inner: Shorten, striker: Striker) -> Shorten:
    async def shorten(messages: History, error: ModelError | None, model: ModelFacts) -> Sequence[AnyEdit]:
        striker.touch("shorten")
        return await inner(messages, error, model)

    return shorten


def struck_drain(inner: DrainCollapsed, striker: Striker) -> DrainCollapsed:
    async def drain(messages: History) -> Sequence[AnyEdit]:
        striker.touch("drain")
        return await inner(messages)

    return drain


def struck_stop_hook(inner: StopHook, striker: Striker) -> StopHook:
    async def hook(asked: Stopping, /) -> StopDecision | None:
        striker.touch("stop hook")
        return await inner(asked)

    return hook


def struck_tool_hook(inner: AfterTool, striker: Striker) -> AfterTool:
    async def hook(ran: ToolRan, /) -> AfterToolDecision | None:
        striker.touch("tool hook")
        return await inner(ran)

    return hook


def struck_deps(deps: Deps, striker: Striker) -> Deps:
    async def prepare(messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        striker.touch("prepare")
        return await deps.prepare_context(messages, facts) if deps.prepare_context else ()

    async def attach(view: Sequence[Message]) -> Sequence[Message]:
        striker.touch("attach")
        found = deps.collect_attachments(view)
        return found if isinstance(found, Sequence) else await found

    chain = tuple(
        replace(one, call_model=struck_model(one.call_model, striker)) for one in deps.fallbacks.substitutes
    )
    return replace(
        deps,
        call_model=struck_model(deps.call_model, striker),
        permissions=StruckGate(deps.permissions, striker),
        prepare_context=prepare,
        collect_attachments=attach,
        shorten=struck_shorten(deps.shorten, striker),
        strip_media=struck_shorten(deps.strip_media, striker),
        drain_collapsed=deps.drain_collapsed and struck_drain(deps.drain_collapsed, striker),
        stop_hooks=[struck_stop_hook(hook, striker) for hook in deps.stop_hooks],
        after_tool=[struck_tool_hook(hook, striker) for hook in deps.after_tool],
        fallbacks=replace(deps.fallbacks, substitutes=chain),
    )


@dataclass(frozen=True)
class Played:
    """A run under a striker: what its consumer heard, and what was written."""

    scene: Scene
    striker: Striker
    journal: MemoryJournal
    events: list[Event]

    @property
    def said(self) -> list[Message]:
        """The conversation as if nothing had been shortened: what a summary stands for stays on the screen."""
        before = self.scene.params().messages.view()
        kept = [one for one in self.journal.records if not isinstance(one, Boundary | Fold | Snip)]
        return History.fold([*before, *kept]).view()

    @property
    def ends(self) -> list[Terminal]:
        return [event for event in self.events if isinstance(event, Terminal)]


def as_they_are(deps: Deps) -> Deps:
    return deps


async def play(scene: Scene, striker: Striker, change: Callable[[Deps], Deps] = as_they_are) -> Played:
    """Run to the end, or until the striker has the consumer leave. `change` is made to what the loop gets from outside."""
    journal = StruckJournal(striker)
    scene = replace(scene, journal=journal)
    striker.scene = scene
    events: list[Event] = []
    stream = query(scene.params(), struck_deps(change(scene.deps()), striker))
    try:
        async for event in stream:
            events.append(event)
            striker.touch("emit", Struck("the consumer fails"))
            if striker.has_left:
                break
    except Struck:
        striker.has_left = True
    await stream.aclose()
    return Played(scene, striker, journal, events)


# ------------------------------------------------------------------ what must hold


def check(played: Played) -> None:
    """All promises that hold whatever happened."""
    ends, events = played.ends, played.events
    if not played.striker.has_left:
        assert len(ends) == 1
        assert events[-1] is ends[0]
    assert played.scene.log.running == frozenset()
    for model in (played.scene.model, *played.scene.others):
        assert model.open_streams == 0
    view = played.scene.written.view()
    if not played.striker.has_broken_disk:
        is_sound(view)
        is_shown_as_it_is(played, played.said)
    no_effect_twice(played, played.said)


def is_sound(view: list[Message]) -> None:
    """Legal for a later query of this model, each call with exactly one result."""
    prompt = UserMessage("next", (say("next"),))
    messages = Normaliser(SCRIPTED_FACTS, strict=True).request_messages(
        History.empty().extend([*view, prompt])
    )
    assert problems(messages) == ()
    calls = [c.id for m in view if isinstance(m, AssistantMessage) for c in m.tool_uses]
    results = [
        block.tool_use_id
        for message in view
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult)
    ]
    assert sorted(calls) == sorted(results)


def is_shown_as_it_is(played: Played, view: list[Message]) -> None:
    """What was shown and is gone from the conversation has its tombstone, and nothing else has. A refused reply alone stays on the screen."""
    shown = {e.message.uuid for e in played.events if isinstance(e, AssistantEvent | UserEvent)}
    buried = [event.uuid for event in played.events if isinstance(event, Tombstone)]
    assert len(buried) == len(set(buried))
    kept: set[str] = set()
    for message in view:
        kept.add(message.uuid)
        if isinstance(message, UserMessage | AssistantMessage):
            kept.update(message.block_ids)
    is_refused = any(isinstance(one, Ended) and one.reason == "refused" for one in played.journal.records)
    if not played.striker.has_left and not is_refused:
        assert shown - kept == set(buried)
    assert not set(buried) & kept


def no_effect_twice(played: Played, view: list[Message]) -> None:
    """No call is started twice, and one with side effects that was started is never taken back and asked for again."""
    records = played.journal.records
    started = [record.tool_use_id for record in records if isinstance(record, ToolStarted)]
    assert len(started) == len(set(started))
    finished = [record.tool_use_id for record in records if isinstance(record, ToolFinished)]
    assert len(finished) == len(set(finished))
    kept = {c.id for m in view if isinstance(m, AssistantMessage) for c in m.tool_uses}
    acted = [r.tool_use_id for r in records if isinstance(r, ToolStarted) and not r.is_read_only]
    assert set(acted) <= kept

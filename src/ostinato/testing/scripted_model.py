"""A model that says what the test wrote, in process, and refuses every request that a real provider would refuse."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import assert_never

import anyio.lowlevel

from ostinato.errors import IllegalHistory
from ostinato.events import AnyModelEvent
from ostinato.ports import ModelFacts, ModelRequest
from ostinato.testing.gate import Gate
from ostinato.testing.script import (
    SCRIPTED_MODEL,
    SCRIPTED_PROVIDER,
    Cut,
    Fails,
    Reply,
    Turn,
    steps,
    stream_cut,
)
from ostinato.testing.strict_canonical import request_problems

SCRIPTED_FACTS = ModelFacts(
    provider=SCRIPTED_PROVIDER,
    id=SCRIPTED_MODEL,
    context_window=200_000,
    max_output_tokens=64_000,
    takes_images=True,
)

Script = Callable[[ModelRequest, int], Turn]


class ScriptExhausted(AssertionError):
    """A request came for which the script holds no turn."""

    def __init__(self, number: int, turns: int) -> None:
        super().__init__(f"request {number} came, but the script holds {turns} turn(s)")
        self.number = number


class ScriptedModel:
    """The Model port, played from turns: the first legal request gets the first turn, and so on.

    `script` is asked instead of a list: a function of the request and its number, from 1. `is_strict` raises
    `IllegalHistory` for a request that breaks the rules; turn it off where its cost would be measured.
    `batch_events` is how many events arrive at once; a gate always ends a batch.
    """

    def __init__(
        self,
        *turns: Turn,
        script: Script | None = None,
        facts: ModelFacts = SCRIPTED_FACTS,
        is_strict: bool = True,
        batch_events: int = 1,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.open_streams = 0
        self._played = 0
        self._turns = turns
        self._script = script
        self._facts = facts
        self._is_strict = is_strict
        self._batch_events = batch_events

    @classmethod
    def repeating(cls, turn: Turn, *, facts: ModelFacts = SCRIPTED_FACTS) -> "ScriptedModel":
        """A model that gives the same turn for ever."""
        return cls(script=lambda _request, _number: turn, facts=facts)

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    @property
    def turns_left(self) -> int:
        """How many turns of the list were not asked for."""
        return max(0, len(self._turns) - self._played)

    @asynccontextmanager
    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[AsyncIterator[Sequence[AnyModelEvent]], None]:
        self.requests.append(request)
        if self._is_strict and (found := request_problems(request, self._facts)):
            raise IllegalHistory(found)
        self._played += 1
        number = self._played
        turn = self._turn(request, number)
        await anyio.lowlevel.checkpoint()
        if isinstance(turn, Fails):
            await _refuse(turn)
        self.open_streams += 1
        try:
            async with aclosing(self._batches(turn, f"msg_{number}")) as batches:
                yield batches
        finally:
            self.open_streams -= 1

    def _turn(self, request: ModelRequest, number: int) -> Turn:
        if self._script is not None:
            return self._script(request, number)
        if number > len(self._turns):
            raise ScriptExhausted(number, len(self._turns))
        return self._turns[number - 1]

    async def _batches(self, turn: Turn, response_id: str) -> AsyncGenerator[Sequence[AnyModelEvent], None]:
        match turn:
            case Fails():
                raise turn.error
            case Reply() | Cut():
                pass
            case _:
                assert_never(turn)
        batch: list[AnyModelEvent] = []
        for step in steps(turn, response_id=response_id, provider=self._facts.provider, model=self._facts.id):
            if isinstance(step, Gate):
                if batch:
                    yield tuple(batch)
                    batch = []
                await step.wait()
                continue
            batch.append(step)
            if len(batch) >= self._batch_events:
                await anyio.lowlevel.checkpoint()
                yield tuple(batch)
                batch = []
        if batch:
            await anyio.lowlevel.checkpoint()
            yield tuple(batch)
        if isinstance(turn, Cut):
            raise turn.error or stream_cut()


async def _refuse(turn: Fails) -> None:
    if turn.before is not None:
        await turn.before.wait()
    raise turn.error

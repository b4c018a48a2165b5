"""Running collectors side by side: one that fails or is slow costs its own attachment and nothing else.

They share one deadline; what is found comes in the order of the collectors, whoever was first.
"""

import logging
from collections.abc import Sequence
from typing import Final

import anyio
import anyio.lowlevel
import msgspec

from ostinato.messages import Message
from ostinato.ports import Clock, CollectAttachments

DEADLINE_S: Final = 1.0
"""For all collectors together (semantics §29)."""


class NamedCollector(msgspec.Struct, frozen=True):
    """A collector, and what the log calls it. It must let itself be cancelled at once."""

    name: str
    collect: CollectAttachments


class CollectTogether:
    """Implements `CollectAttachments` over several collectors. Cancelling the call cancels them all."""

    def __init__(
        self, collectors: Sequence[NamedCollector], clock: Clock, *, deadline_s: float = DEADLINE_S
    ) -> None:
        self._collectors = tuple(collectors)
        self._clock = clock
        self._deadline_s = deadline_s

    async def __call__(self, view: Sequence[Message]) -> Sequence[Message]:
        """What the collectors that ended in time have found."""
        if not self._collectors:
            return ()
        found: dict[int, Sequence[Message]] = {}
        async with anyio.create_task_group() as tasks:
            is_timed = False

            async def run(place: int, collector: NamedCollector) -> None:
                found[place] = await _guarded(collector, view)
                if is_timed and len(found) == len(self._collectors):
                    tasks.cancel_scope.cancel()

            async def stop_when_late() -> None:
                await self._clock.sleep(self._deadline_s)
                tasks.cancel_scope.cancel()

            for place, collector in enumerate(self._collectors):
                tasks.start_soon(run, place, collector)
            await anyio.lowlevel.checkpoint()
            if len(found) < len(self._collectors):  # most rounds have nothing to wait for, and need no clock
                is_timed = True
                tasks.start_soon(stop_when_late)
        late = [one.name for place, one in enumerate(self._collectors) if place not in found]
        if late:
            _log().warning(
                "not collected within %s s, so left out this time: %s", self._deadline_s, ", ".join(late)
            )
        return [message for place in sorted(found) for message in found[place]]


async def _guarded(collector: NamedCollector, view: Sequence[Message]) -> Sequence[Message]:
    try:
        return await collector.collect(view)
    except Exception as error:  # ruff: ignore[blind-except] - an attachment is never worth a query
        _log().warning("the collector %s failed: %r", collector.name, error)
        return ()


def _log() -> logging.Logger:
    return logging.getLogger("ostinato")

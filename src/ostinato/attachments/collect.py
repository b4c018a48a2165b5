"""Running collectors side by side: one that fails or is slow costs its own attachment and nothing else.

They share one deadline; what is found comes in the order of the collectors, whoever was first. Most rounds have nothing to
wait for: then there is no task and no clock.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio
import msgspec

from ostinato.messages import Message
from ostinato.ports import Clock, CollectAttachments

DEADLINE_S: Final = 1.0
"""For all collectors together (semantics §29)."""


def _not_at_once(view: Sequence[Message]) -> Sequence[Message] | None:
    del view
    return None


def _nothing_instead(reason: str) -> Sequence[Message]:
    del reason
    return ()


class NamedCollector(msgspec.Struct, frozen=True):
    """A collector, and what the log calls it. It must let itself be cancelled at once. `at_once` gives all there is to find where
    that needs no waiting, None where `collect` must be asked. `missed` gives what is said instead of what a failed or late one would
    have found, from the reason in a few words.
    """

    name: str
    collect: CollectAttachments
    at_once: Callable[[Sequence[Message]], Sequence[Message] | None] = _not_at_once
    missed: Callable[[str], Sequence[Message]] = _nothing_instead


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
        found = self.begin(view)
        return found if isinstance(found, Sequence) else await found

    def begin(self, view: Sequence[Message]) -> Sequence[Message] | Awaitable[Sequence[Message]]:
        """The same, without a wait where no collector needs one."""
        found: dict[int, Sequence[Message]] = {}
        waiting: dict[int, NamedCollector] = {}
        for place, collector in enumerate(self._collectors):
            now = _found_at_once(collector, view)
            if now is None:
                waiting[place] = collector
            else:
                found[place] = now
        return self._waited_for(waiting, view, found) if waiting else _in_order(found)

    async def _waited_for(
        self,
        waiting: dict[int, NamedCollector],
        view: Sequence[Message],
        found: dict[int, Sequence[Message]],
    ) -> Sequence[Message]:
        async with anyio.create_task_group() as tasks:
            left = set(waiting)

            async def run(place: int, collector: NamedCollector) -> None:
                found[place] = await _guarded(collector, view)
                left.discard(place)
                if not left:
                    tasks.cancel_scope.cancel()

            async def stop_when_late() -> None:
                await self._clock.sleep(self._deadline_s)
                tasks.cancel_scope.cancel()

            for place, collector in waiting.items():
                tasks.start_soon(run, place, collector)
            tasks.start_soon(stop_when_late)
        late = {place: collector for place, collector in waiting.items() if place not in found}
        if late:
            names = ", ".join(collector.name for collector in late.values())
            _log().warning("not collected within %s s, so left out this time: %s", self._deadline_s, names)
        for place, collector in late.items():
            found[place] = collector.missed(f"it took longer than {self._deadline_s:g} s")
        return _in_order(found)


def _in_order(found: dict[int, Sequence[Message]]) -> Sequence[Message]:
    return [message for place in sorted(found) for message in found[place]]


def _found_at_once(collector: NamedCollector, view: Sequence[Message]) -> Sequence[Message] | None:
    try:
        return collector.at_once(view)
    except Exception as error:  # ruff: ignore[blind-except] - as below
        _note_failure(collector, error)
        return collector.missed(f"it failed: {error!r}")


async def _guarded(collector: NamedCollector, view: Sequence[Message]) -> Sequence[Message]:
    try:
        return await collector.collect(view)
    except Exception as error:  # ruff: ignore[blind-except] - an attachment is never worth a query
        _note_failure(collector, error)
        return collector.missed(f"it failed: {error!r}")


def _note_failure(collector: NamedCollector, error: Exception) -> None:
    _log().warning("the collector %s failed: %r", collector.name, error)


def _log() -> logging.Logger:
    return logging.getLogger("ostinato")

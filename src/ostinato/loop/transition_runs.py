"""The transitions of a query, for its `Terminal`: passes that are alike but for the number of their turn take the room of one, so that a
query of days holds no more of them than one of minutes.
"""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from ostinato.records import Continued


class _Run(msgspec.Struct):
    """`count` transitions like the first, each `step` turns after the one before."""

    first: Continued
    count: int = 1
    step: int = 0

    def at(self, place: int) -> Continued:
        if place == 0:
            return self.first
        return replace(self.first, turn_count=self.first.turn_count + place * self.step)

    def takes(self, transition: Continued) -> bool:
        """Whether it was the next of the run, and is part of it now."""
        if self.count == 1:
            self.step = transition.turn_count - self.first.turn_count
        if self.at(self.count) != transition:
            return False
        self.count += 1
        return True


class TransitionRuns:
    """Oldest first; what comes out equals what went in."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def append(self, transition: Continued) -> None:
        if not self._runs or not self._runs[-1].takes(transition):
            self._runs.append(_Run(transition))

    def __iter__(self) -> Iterator[Continued]:
        for run in self._runs:
            yield from map(run.at, range(run.count))

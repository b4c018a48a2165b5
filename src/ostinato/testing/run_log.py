"""Which fake tool calls ran, in which order, and which of them at the same time."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

RunEnd = Literal["returned", "raised", "cancelled"]


@dataclass(frozen=True, slots=True)
class Started:
    tool_use_id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finished:
    tool_use_id: str
    name: str
    how: RunEnd


class RunLog:
    """`entries` in the order they happened; shared by the tools of one test."""

    def __init__(self) -> None:
        self.entries: list[Started | Finished] = []

    @property
    def started(self) -> tuple[str, ...]:
        """Ids of the calls that began, in order."""
        return tuple(one.tool_use_id for one in self.entries if isinstance(one, Started))

    @property
    def finished(self) -> tuple[str, ...]:
        """Ids of the calls that ended, in order."""
        return tuple(one.tool_use_id for one in self.entries if isinstance(one, Finished))

    @property
    def running(self) -> frozenset[str]:
        """Ids of the calls that began and have not ended."""
        return frozenset(self.started) - frozenset(self.finished)

    @property
    def most_at_once(self) -> int:
        most = now = 0
        for entry in self.entries:
            now += 1 if isinstance(entry, Started) else -1
            most = max(most, now)
        return most

    def ending_of(self, tool_use_id: str) -> RunEnd | None:
        """How the call ended; None if it did not."""
        return next(
            (one.how for one in self.entries if isinstance(one, Finished) and one.tool_use_id == tool_use_id),
            None,
        )

    def overlapped(self, one: str, other: str) -> bool:
        """Whether both calls ran at the same time."""
        return frozenset({one, other}) in self.overlaps()

    def overlaps(self) -> frozenset[frozenset[str]]:
        """Every pair of calls that ran at the same time."""
        running: list[str] = []
        pairs: set[frozenset[str]] = set()
        for entry in self.entries:
            if isinstance(entry, Started):
                running.append(entry.tool_use_id)
                pairs.update(frozenset(pair) for pair in combinations(running, 2))
            else:
                running.remove(entry.tool_use_id)
        return frozenset(pairs)

"""The results that may give way once they are old, and what they hold: each is looked at once, and again only where an edit has changed
it. What is decided by them hangs on the conversation alone: a resumed one is cleared where the one that went on would be.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence

import msgspec

from ostinato.context.exchanges import Exchange, exchanges
from ostinato.history import History
from ostinato.messages import AssistantMessage, Message, ToolUse
from ostinato.normalise.shared_beginning import shared_beginning
from ostinato.normalise.token_estimate import blocks_tokens
from ostinato.records import Record, ReplaceResult
from ostinato.undone import undone_edits


class ClearableResults:
    """`counts`: which results are looked at at all; `may_go`: which of them are worth clearing."""

    def __init__(self, counts: Callable[[Exchange], bool], may_go: Callable[[Exchange], bool]) -> None:
        self._counts = counts
        self._may_go = may_go
        self._seen: list[Message] = []
        self._length = 0
        self._calls: dict[str, ToolUse] = {}
        self._wanted_back: frozenset[str] = frozenset()
        self._cleared: frozenset[str] = frozenset()
        self._settled: list[Exchange] = []
        self._sizes: list[int] = [0]
        self._gains: list[int] = [0]
        self._newest: list[Exchange] = []

    def look(self, messages: History) -> None:
        """Take in what has changed since the last look."""
        if messages.closed is not self._seen or messages.closed_length < self._length:
            self._forget_from(shared_beginning(self._seen[: self._length], messages.closed))
            log = messages.log()
            self._wanted_back, self._cleared = _wanted_back(log), _cleared(log)
        self._seen = messages.closed
        start, new = self._length, messages.closed[self._length : messages.closed_length]
        for one in exchanges(new, self._calls):
            if self._looked_at(one):
                self._settled.append(msgspec.structs.replace(one, index=start + one.index))
                tokens = blocks_tokens((one.result,))
                self._sizes.append(self._sizes[-1] + tokens)
                self._gains.append(self._gains[-1] + (tokens if self.is_clearable(one) else 0))
        self._calls.update(_calls(new))
        self._length = messages.closed_length
        self._newest = list(filter(self._looked_at, exchanges(messages.tail, self._calls)))

    def is_clearable(self, one: Exchange) -> bool:
        return one.call.id not in self._cleared and self._may_go(one)

    def all_but(self, count: int) -> Sequence[Exchange]:
        """The settled ones without those that are among the newest `count` of all."""
        return self._settled[: max(0, len(self._settled) + len(self._newest) - count)]

    def before_newest(self, tokens: int, first_unread: int) -> "Old":
        """What lies before so many tokens of the newest results, and before the message at `first_unread`."""
        left = tokens - sum(blocks_tokens((one.result,)) for one in self._newest)
        end = bisect_left(self._sizes, self._sizes[-1] - left) if left >= 0 else len(self._settled)
        while end and self._settled[end - 1].index >= first_unread:
            end -= 1
        return Old(self._settled, end, self._gains[end])

    def _looked_at(self, one: Exchange) -> bool:
        return one.call.id not in self._wanted_back and self._counts(one)

    def _forget_from(self, place: int) -> None:
        if place == 0:
            self._calls = {}
        while self._settled and self._settled[-1].index >= place:
            self._settled.pop()
            self._sizes.pop()
            self._gains.pop()
        self._length = min(self._length, place)


class Old(msgspec.Struct, frozen=True):
    """The first `count` of these; clearing what may go of them frees at the most `tokens`."""

    settled: Sequence[Exchange]
    count: int
    tokens: int


def _calls(messages: Sequence[Message]) -> dict[str, ToolUse]:
    return {call.id: call for one in messages if isinstance(one, AssistantMessage) for call in one.tool_uses}


def _wanted_back(log: Sequence[Record]) -> frozenset[str]:
    """Calls whose results the user has brought back: they are not cleared again."""
    undone = undone_edits(log)
    return frozenset(
        edit.tool_use_id for edit in log if isinstance(edit, ReplaceResult) and edit.edit_id in undone
    )


def _cleared(log: Sequence[Record]) -> frozenset[str]:
    """A cleared one that was brought back is not among those that are looked at."""
    return frozenset(
        edit.tool_use_id for edit in log if isinstance(edit, ReplaceResult) and edit.how == "cleared"
    )

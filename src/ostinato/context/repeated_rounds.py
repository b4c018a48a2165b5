"""The rounds of the settled part of a view whose every call was made again later: each round is looked at once, and again only where
an edit has changed it. What is found hangs on the conversation alone, not on how long the process has run.
"""

from collections.abc import Callable, Sequence

import msgspec

from ostinato.codec import encode
from ostinato.context.exchanges import exchanges
from ostinato.context.rounds import Round, messages_tokens, rounds_of, wanted_back
from ostinato.history import History
from ostinato.messages import Message, ToolUse
from ostinato.normalise.shared_beginning import shared_beginning
from ostinato.records import Record, ReplaceResult


class Known(msgspec.Struct, frozen=True):
    """A round, and what its calls are known by; `good` are those that were answered in full and without an error."""

    round: Round
    keys: frozenset[bytes]
    good: frozenset[bytes]
    may_go: bool
    tokens: int


class RepeatedRounds:
    """`is_of_use`: whether the reply that begins a round holds more than calls that only look something up."""

    def __init__(self, is_of_use: Callable[[Message], bool]) -> None:
        self._is_of_use = is_of_use
        self._seen: list[Message] = []
        self._length = 0
        self._replaced: frozenset[str] = frozenset()
        self._stays: frozenset[int] = frozenset()
        self._known: list[Known] = []
        self._missing: list[set[bytes]] = []
        self._waiting: dict[bytes, list[int]] = {}
        self._repeated: list[int] = []

    def look(self, messages: History, newest: int) -> list[Known]:
        """Those that were made again, oldest first, without the `newest` rounds of all and what the user wanted back."""
        if messages.closed is not self._seen or messages.closed_length < self._length:
            self._forget_from(shared_beginning(self._seen[: self._length], messages.closed))
            log = messages.log()
            self._replaced, self._stays = _replaced(log), wanted_back(messages.view(), log)
        self._seen = messages.closed
        start = max(0, self._length - 1)  # a reply may have had no results by then
        for one in rounds_of(messages.closed[start : messages.closed_length]):
            if start + one.end >= self._length:
                moved = Round(start + one.start, start + one.end, one.calls)
                self._add(self._known_of(moved, messages.closed))
        self._length = messages.closed_length
        end = len(self._known) + len(rounds_of(messages.tail)) - newest
        places = sorted(place for place in self._repeated if place < end)
        found = [self._known[place] for place in places]
        return [one for one in found if one.may_go and one.round.start not in self._stays]

    def _known_of(self, one: Round, closed: Sequence[Message]) -> Known:
        pair = closed[one.start : one.end + 1]
        good = {
            found.call.id
            for found in exchanges(pair)
            if not found.result.is_error and found.call.id not in self._replaced
        }
        return Known(
            one,
            frozenset(map(_key, one.calls)),
            frozenset(_key(call) for call in one.calls if call.id in good),
            not self._is_of_use(pair[0]),
            messages_tokens(pair),
        )

    def _add(self, known: Known) -> None:
        for key in known.good:
            for place in self._waiting.pop(key, ()):
                self._missing[place].discard(key)
                if not self._missing[place]:
                    self._repeated.append(place)
        for key in known.keys:
            self._waiting.setdefault(key, []).append(len(self._known))
        self._known.append(known)
        self._missing.append(set(known.keys))

    def _forget_from(self, place: int) -> None:
        kept = [one for one in self._known if one.round.end < place]
        self._known, self._missing, self._waiting, self._repeated = [], [], {}, []
        for one in kept:
            self._add(one)
        self._length = min(self._length, place)


def _key(call: ToolUse) -> bytes:
    return encode([call.name, sorted(call.input.items())])


def _replaced(log: Sequence[Record]) -> frozenset[str]:
    """Calls whose result is no longer there as it was: what came before them is not made superfluous by them."""
    return frozenset(edit.tool_use_id for edit in log if isinstance(edit, ReplaceResult))

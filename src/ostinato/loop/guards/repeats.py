"""Counts what repeats itself. A round without news is one whose every answer the model has already, to the same calls.

One rule sees the identical call, alternation A-B-A-B and any longer circle. What was changed makes all that was read before it
out of date, so that a test run again after an edit is no repetition; equal calls of one round count once. What gives another
answer although nothing was changed moves by itself: to ask for it again is to wait.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Final, Literal

import msgspec

from ostinato.loop.guards.heard import Heard
from ostinato.messages import ToolUse
from ostinato.repetition import GuardLimits, KnownAnswer, Repeats, Threshold

MAX_ANSWERS: Final = 64
"""A circle that is longer than this is not seen as one."""

Pair = tuple[int, int]
"""A call and its answer."""

Rule = Literal["idle", "failing", "again", "waiting"]
StillKnown = Callable[[str, int], bool]
"""Whether the model can still read the answer to that call, an answer of so many characters."""


class Finding(msgspec.Struct, frozen=True):
    """A rule that triggers with this count. `call` is one of those that it is about. `is_end`: the query is not to go on so."""

    rule: Rule
    count: int
    call: ToolUse
    is_end: bool


def counted(before: Repeats, round_: Sequence[Heard], still_known: StillKnown) -> Repeats:
    """The counts with one round more; a round without an answered call says nothing."""
    if not round_:
        return before
    by_pair = {(one.call, one.answer): one for one in round_}
    news = {
        pair
        for pair, one in by_pair.items()
        if (known := before.answers.get(pair)) is None or not still_known(known.call_id, one.length)
    }
    changing = {pair for pair, one in by_pair.items() if one.has_changed}
    moving = _moving(before, by_pair, news, changing)
    only_waits = all(one.waits or pair in moving for pair, one in by_pair.items())
    ways = {one.failure for one in round_}
    way = (
        ways.pop() if len(ways) == 1 and not only_waits else 0
    )  # a wait that is in vain so far has its own, wider bounds
    changes = before.changes + len(changing)
    known = before.answers
    kept = {pair: one for pair, one in known.items() if one.has_changed} if changing & news else dict(known)
    for pair, one in by_pair.items():
        earlier = kept.pop(pair, None)
        rounds = 1 if earlier is None or pair in news else earlier.rounds + 1
        kept[pair] = KnownAnswer(rounds, one.block.id, one.has_changed, changes, moves=pair in moving)
    while len(kept) > MAX_ANSWERS:
        del kept[next(iter(kept))]
    return Repeats(
        kept,
        idle=0 if news else before.idle + (not only_waits),
        waiting=0 if news else before.waiting + only_waits,
        failing=0 if not way else before.failing + 1 if way == before.failure else 1,
        failure=way,
        questions=before.questions,
        changes=changes,
    )


def _moving(
    before: Repeats, by_pair: Mapping[Pair, Heard], news: Set[Pair], changing: Set[Pair]
) -> Set[Pair]:
    """Of this round the calls whose answers move by themselves, as was seen now or earlier."""
    if not before.answers:
        return frozenset()
    latest_first = list(before.answers)[::-1]
    found: set[Pair] = set()
    for pair in by_pair:
        answer = next((answer for call, answer in latest_first if call == pair[0]), None)
        if answer is None:
            continue
        known = before.answers[pair[0], answer]
        has_moved = pair in news and answer != pair[1] and known.changes == before.changes
        if known.moves or (has_moved and not any(other[0] != pair[0] for other in changing)):
            found.add(pair)
    return found


def found(repeats: Repeats, round_: Sequence[Heard], limits: GuardLimits) -> Finding | None:
    """The rule that triggers after this round, the one that ends before those that tell."""
    if not round_:
        return None
    last = round_[-1].block
    often, again = _most_often(repeats, round_)
    findings = [
        _judged("idle", repeats.idle and repeats.idle + 1, last, limits.idle),
        _judged("failing", repeats.failing, last, limits.failing),
        _judged("again", often, again, limits.again) if often > repeats.idle + 1 else None,
        _judged("waiting", repeats.waiting and repeats.waiting + 1, last, limits.waiting),
    ]
    triggered = [one for one in findings if one is not None]
    return next((one for one in triggered if one.is_end), triggered[0] if triggered else None)


def _judged(rule: Rule, count: int, call: ToolUse, at: Threshold) -> Finding | None:
    """The model is told once; a count that reaches the end stays there."""
    if count >= at.end:
        return Finding(rule, count, call, is_end=True)
    return Finding(rule, count, call, is_end=False) if count == at.note else None


def _most_often(repeats: Repeats, round_: Sequence[Heard]) -> tuple[int, ToolUse]:
    counts = [
        (known.rounds, one.block)
        for one in round_
        if (known := repeats.answers.get((one.call, one.answer))) is not None
        and not (one.has_changed or one.waits or known.moves)
    ]
    return max(counts, key=lambda pair: pair[0], default=(0, round_[-1].block))

"""What the calls of a query repeat, and from where on that counts as a loop: the data of the loop guards.

`loop/guards/` counts and judges; `docs/loop-guards.md` says what triggers.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

GuardMode = Literal["off", "note", "stop"]
"""`note` only tells the model; `stop` also asks the user later, or ends the query where nobody can be asked."""


class Threshold(msgspec.Struct, frozen=True):
    """From which count on the model is told, and from which on the query is not to go on."""

    note: int
    end: int


class GuardLimits(msgspec.Struct, frozen=True):
    """Semantics §34: told at three, ended at six. The other numbers leave room for honest work that looks alike.

    `idle`: rounds in a row with nothing new in them, the one that was repeated included. `failing`: rounds in a row in which every
    call failed in the same way. `again`: times that a call that changes nothing gave the same answer, whatever lay between, while
    nothing was changed. `waiting`: rounds in a row that only waited, and in vain.
    """

    idle: Threshold = Threshold(3, 6)
    failing: Threshold = Threshold(4, 10)
    again: Threshold = Threshold(3, 12)
    waiting: Threshold = Threshold(20, 40)


DEFAULT_LIMITS = GuardLimits()


class KnownAnswer(msgspec.Struct, frozen=True):
    """An answer that the model has: in how many rounds it came, with which call last, and whether that call changed something.

    `changes` had been made by then. `moves`: the call has given another answer although nothing but itself had changed anything, so
    that what it looks at moves by itself, and making it again is waiting.
    """

    rounds: int
    call_id: str
    has_changed: bool
    changes: int = 0
    moves: bool = False


class Repeats(msgspec.Struct, frozen=True):
    """What a query has heard since the user spoke. `answers` goes by call and answer, the latest last."""

    answers: Mapping[tuple[int, int], KnownAnswer] = msgspec.field(
        default_factory=dict[tuple[int, int], KnownAnswer]
    )
    idle: int = 0
    waiting: int = 0
    failing: int = 0
    failure: int = 0
    """Which way of failing `failing` counts."""
    changes: int = 0
    """How many answers came of a call that changed something."""
    questions: int = 0


NO_REPEATS = Repeats()

"""What a whole tree of queries may spend. Room is reserved before each model call and accounted for after it, so a limit holds
also for calls that run at the same time, and a call that would exceed it is not made.

One `Budget` is shared by a conversation's queries and by everything they start.
"""

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from ostinato.messages import NO_USAGE, Usage
from ostinato.ports import ModelFacts

MIN_OUTPUT_TOKENS = 1_024
"""A call is made with less output than wanted as long as this much fits; below that an answer is not worth its input."""

Limit = Literal["usd", "tokens", "time"]


class BudgetLimits(msgspec.Struct, frozen=True):
    """Limits of the whole tree; None is no limit. Tokens are all kinds together: input, output, cache reads and writes.
    `timeout_s` counts the time while queries run.
    """

    max_usd: float | None = None
    max_total_tokens: int | None = None
    timeout_s: float | None = None


class Reservation(msgspec.Struct, frozen=True):
    """Room for one call, to be settled exactly once. The call may ask for this many output tokens."""

    number: int
    max_output_tokens: int


class BudgetSpent(msgspec.Struct, frozen=True):
    """A limit is reached: which one, in a sentence, and what to do about it."""

    limit: Limit
    message: str
    hint: str = ""


class Budget(Protocol):
    """All of it is synchronous: what is said of an aborted call is said before anything else happens."""

    def reserve(
        self, model: ModelFacts, input_tokens: Callable[[], int], max_output_tokens: int, *, searches: int = 0
    ) -> Reservation | BudgetSpent:
        """Room for a call in the worst case: all of its input at the dearest price, all of its output used, each of the
        `searches` that the provider may make made. The output is made smaller to fit. `input_tokens` is asked only where a
        limit needs it.
        """
        ...

    def settle(self, reservation: Reservation, model: ModelFacts, usage: Usage) -> None:
        """The call is over, well or badly; `usage` is what is known of it."""
        ...

    def warning(self) -> str | None:
        """A sentence for the user once most of a limit is used; once for each limit."""
        ...

    def begin(self) -> None:
        """A query starts; time counts while at least one runs."""
        ...

    def end(self) -> None:
        """It is over."""
        ...

    @property
    def remaining_s(self) -> float | None:
        """Seconds left to the queries that run; None without a limit."""
        ...

    def out_of_time(self) -> BudgetSpent:
        """What is said when the time is over."""
        ...


def room_left(
    budget: Budget,
    model: ModelFacts,
    input_tokens: Callable[[], int],
    max_output_tokens: int,
    *,
    searches: int = 0,
) -> int | BudgetSpent:
    """How many of these output tokens a call could ask for now, or why it would not be made. Nothing stays reserved."""
    room = budget.reserve(model, input_tokens, max_output_tokens, searches=searches)
    if isinstance(room, BudgetSpent):
        return room
    budget.settle(room, model, NO_USAGE)
    return room.max_output_tokens


class NoBudget:
    """Implements `Budget` without limits and without memory."""

    remaining_s: float | None = None

    def reserve(
        self, model: ModelFacts, input_tokens: Callable[[], int], max_output_tokens: int, *, searches: int = 0
    ) -> Reservation | BudgetSpent:
        del model, input_tokens, searches
        return Reservation(0, max_output_tokens)

    def settle(self, reservation: Reservation, model: ModelFacts, usage: Usage) -> None:
        del reservation, model, usage

    def warning(self) -> str | None:
        return None

    def begin(self) -> None:
        pass

    def end(self) -> None:
        pass

    def out_of_time(self) -> BudgetSpent:
        return BudgetSpent("time", "the time for this query is over")


NO_BUDGET = NoBudget()

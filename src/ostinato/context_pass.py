"""What the context pipeline is told of the pass it prepares, and whom it may ask: the contract between loop and pipeline."""

from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from ostinato.ports import ModelFacts, QuerySource


class SummaryWanted(msgspec.Struct, frozen=True):
    """One request for a summary.

    `shares_prefix`: as the conversation's own next request with `prompt` at its end, so that its cached beginning is used.
    Otherwise `prompt` alone, which then holds the conversation as text, without tools, under `system`.
    """

    prompt: str
    shares_prefix: bool
    system: str = ""


class SummaryReply(msgspec.Struct, frozen=True):
    """What came back. `is_cut`: it reached its output limit."""

    text: str
    is_cut: bool = False
    called_tool: bool = False


class SummaryFailed(msgspec.Struct, frozen=True):
    """No reply. `excess_tokens`: by how much the request was too long, and `sent_tokens` how long it was, where the server said so."""

    kind: Literal["too_long", "error", "aborted", "over_budget"]
    message: str
    excess_tokens: int | None = None
    sent_tokens: int | None = None


Summarise = Callable[[SummaryWanted], Awaitable[SummaryReply | SummaryFailed]]


class Accounting(msgspec.Struct, frozen=True):
    """A small model that writes accounts beside the passes: `ask` it, within its `window_tokens`, in work that `begin` takes up. It
    takes up one piece at a time, says whether it did, and ends it with the query at the latest.
    """

    ask: Summarise
    window_tokens: int
    begin: Callable[[Callable[[], Awaitable[None]]], bool]


async def no_summary(wanted: SummaryWanted) -> SummaryReply | SummaryFailed:
    """Nobody is there to ask."""
    del wanted
    return SummaryFailed("error", "there is no model to write a summary")


def tell_nobody(message: str) -> None:
    """A failed compaction is nobody's business here."""
    del message


class PassFacts(msgspec.Struct, frozen=True):
    """What a stage knows of the pass it works for.

    `used_tokens`: what the request would have now, after the stages before this one. `was_refused`: this very view was too long for
    the model, whatever it was counted as. `idle_s`: since the pass before, or since the
    last reply of an earlier run; None where nobody knows. `summarise` asks the model of the pass. `compact_failures`: compactions of this query that failed in a row;
    `compact_failed` is told of one more. `accounting`: None where there is no small model for it.
    """

    model: ModelFacts
    used_tokens: int
    idle_s: float | None = None
    was_refused: bool = False
    source: QuerySource = QuerySource("main")
    summarise: Summarise = no_summary
    compact_failures: int = 0
    compact_failed: Callable[[str], None] = tell_nobody
    accounting: Accounting | None = None

"""Above the threshold a summary is made; failures stop the trying, and a full window has a way out without a model."""

from collections.abc import Sequence

from msgspec.structs import replace
from tests.context.talks import FACTS, history

from ostinato.context.autocompact import MAX_FAILURES, Autocompact
from ostinato.context.compaction import Compacted, NotCompacted, Trigger
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.messages import meta_prompt
from ostinato.ports import ModelFacts, QuerySource
from ostinato.records import AnyEdit, Boundary
from ostinato.window_limits import auto_compact_tokens, hard_limit_tokens

DONE = Compacted(Boundary("e", meta_prompt("m", "summary", origin="summary")), 10)
DIGEST = Boundary("d", meta_prompt("n", "digest", origin="summary"))
NONE = NotCompacted("no_summary", "nothing came")
NEAR = PassFacts(FACTS, auto_compact_tokens(FACTS))
FULL = PassFacts(FACTS, hard_limit_tokens(FACTS))


class Played:
    def __init__(self, *ends: Compacted | NotCompacted) -> None:
        self.calls = 0
        self._ends = ends

    async def __call__(
        self, messages: History, facts: PassFacts, /, *, trigger: Trigger
    ) -> Compacted | NotCompacted:
        assert trigger == "auto"
        self.calls += 1
        return self._ends[min(self.calls, len(self._ends)) - 1]


async def digest(_messages: History, _model: ModelFacts) -> Sequence[AnyEdit]:
    return (DIGEST,)


def stage(played: Played) -> Autocompact:
    return Autocompact(played, digest)


class Query:
    """What a query remembers of its failures."""

    def __init__(self, played: Played) -> None:
        self.told: list[str] = []
        self._stage = stage(played)
        self.failures = 0

    async def pass_(self, facts: PassFacts) -> Sequence[AnyEdit]:
        told = len(self.told)
        edits = await self._stage(
            history(), replace(facts, compact_failures=self.failures, compact_failed=self.told.append)
        )
        self.failures = (
            self.failures + 1 if len(self.told) > told else 0 if edits == (DONE.boundary,) else self.failures
        )
        return edits


async def test_it_waits_for_the_threshold():
    played = Played(DONE)
    below = PassFacts(FACTS, auto_compact_tokens(FACTS) - 1)
    assert await stage(played)(history(), below) == ()
    assert played.calls == 0
    assert await stage(played)(history(), NEAR) == (DONE.boundary,)


async def test_inside_a_compaction_nothing_is_compacted():
    played = Played(DONE)
    assert await stage(played)(history(), PassFacts(FACTS, 10**9, source=QuerySource("compact"))) == ()
    assert played.calls == 0


async def test_after_three_failures_in_a_row_it_asks_no_more_and_each_was_told():
    played = Played(NONE)
    query = Query(played)
    for _ in range(10):
        assert await query.pass_(NEAR) == ()
    assert played.calls == MAX_FAILURES
    assert query.told == [NONE.message] * MAX_FAILURES


async def test_a_success_forgives_earlier_failures():
    played = Played(NONE, NONE, DONE, NONE, NONE, NONE, NONE)
    query = Query(played)
    for _ in range(10):
        await query.pass_(NEAR)
    assert played.calls == 6


async def test_at_the_hard_limit_an_account_is_made_without_a_model_when_no_summary_can_be_had():
    played = Played(NONE)
    query = Query(played)
    for _ in range(6):
        assert await query.pass_(FULL) == (DIGEST,)
    assert played.calls == MAX_FAILURES


async def test_an_abort_is_no_failure_and_nothing_else_is_tried():
    played = Played(NotCompacted("aborted", "stopped"))
    query = Query(played)
    for _ in range(5):
        assert await query.pass_(FULL) == ()
    assert played.calls == 5
    assert query.told == []

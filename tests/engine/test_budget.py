"""A limit holds before the money is spent: over all calls together, also those that run at the same time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ostinato.engine.budget import TreeBudget, check_prices
from ostinato.engine.costs import cost_usd, prices_of
from ostinato.errors import UsageError
from ostinato.loop.budget import MIN_OUTPUT_TOKENS, BudgetLimits, BudgetSpent, Reservation
from ostinato.messages import NO_USAGE, Usage
from ostinato.ports import MAX_SEARCHES, ModelFacts, Prices
from ostinato.providers.catalogue import facts_of
from ostinato.testing import SCRIPTED_FACTS, FakeClock

MILLION = 1_000_000
PRICED = replace(SCRIPTED_FACTS, prices=Prices(input=2, output=10, cache_read=0.2, cache_write=2.5))
LOCAL = replace(SCRIPTED_FACTS, provider="local")


def budget(**limits: float) -> TreeBudget:
    tokens = limits.pop("tokens", None)
    return TreeBudget(
        BudgetLimits(limits.get("usd"), None if tokens is None else int(tokens), limits.get("time_s")),
        FakeClock(),
    )


def reserved(
    of: TreeBudget,
    *,
    input_tokens: int = 0,
    output: int = 8_000,
    model: ModelFacts = PRICED,
    searches: int = 0,
) -> Reservation | BudgetSpent:
    return of.reserve(model, lambda: input_tokens, output, searches=searches)


def used(of: TreeBudget, usage: Usage, *, model: ModelFacts = PRICED) -> None:
    """A call that used this."""
    room = reserved(of, model=model)
    assert isinstance(room, Reservation)
    of.settle(room, model, usage)


def output_of(room: Reservation | BudgetSpent) -> int:
    assert isinstance(room, Reservation)
    return room.max_output_tokens


def limit_of(room: Reservation | BudgetSpent) -> str:
    assert isinstance(room, BudgetSpent)
    assert room.message
    assert room.hint
    return room.limit


def test_without_limits_every_call_has_room_and_nothing_is_estimated():
    def never() -> int:
        raise AssertionError("asked")

    assert output_of(budget().reserve(SCRIPTED_FACTS, never, 64_000)) == 64_000


@pytest.mark.parametrize(
    "usage",
    [
        Usage(100, 50, 12_000, 0),
        Usage(100, 50, 0, 12_000),
        Usage(12_100, 50, 0, 0),
        Usage(0, 12_150, 0, 0),
    ],
    ids=["cache reads", "cache writes", "input", "output"],
)
def test_tokens_of_every_kind_count(usage: Usage):
    limited = budget(tokens=12_100)
    used(limited, usage)
    assert limited.spent_tokens == 12_150
    assert limit_of(reserved(limited)) == "tokens"


def test_a_call_whose_usage_is_not_known_counts_as_nothing():
    limited = budget(tokens=10_000)
    used(limited, NO_USAGE)
    assert limited.spent_tokens == 0


def test_the_price_of_each_kind_of_token_counts():
    limited = budget(usd=100)
    used(limited, Usage(MILLION, MILLION, MILLION, MILLION))
    assert limited.spent_usd == pytest.approx(2 + 10 + 0.2 + 2.5)


def test_a_call_that_fits_in_the_worst_case_is_left_as_it_is():
    assert output_of(reserved(budget(usd=1), input_tokens=100_000, output=8_000)) == 8_000


def test_the_output_is_shortened_to_what_is_left():
    # all of the input at the dearest price, that of writing it to the cache, leaves $0.75
    assert output_of(reserved(budget(usd=1), input_tokens=100_000, output=128_000)) == 75_000
    assert output_of(reserved(budget(tokens=50_000), input_tokens=40_000, output=128_000)) == 10_000


def test_searches_that_the_provider_may_make_are_paid_for_like_tokens():
    limited = budget(usd=0.15)
    assert output_of(reserved(limited, searches=MAX_SEARCHES, output=128_000)) == pytest.approx(10_000, abs=1)
    dear = budget(usd=0.03)
    refused = reserved(dear, searches=MAX_SEARCHES, output=100)
    assert limit_of(refused) == "usd"
    assert isinstance(refused, BudgetSpent)
    assert "5 searches" in refused.message
    assert output_of(reserved(dear, output=100)) == 100


def test_below_a_useful_output_the_call_is_not_made():
    floor = MIN_OUTPUT_TOKENS
    assert output_of(reserved(budget(tokens=40_000 + floor), input_tokens=40_000)) == floor
    assert limit_of(reserved(budget(tokens=40_000 + floor - 1), input_tokens=40_000)) == "tokens"
    assert limit_of(reserved(budget(usd=0.25), input_tokens=100_000)) == "usd"


def test_a_call_that_wants_less_than_that_needs_only_what_it_wants():
    assert output_of(reserved(budget(tokens=500), input_tokens=400, output=100)) == 100


def test_calls_at_the_same_time_do_not_count_on_the_same_money():
    limited = budget(usd=1)
    first = reserved(limited, output=60_000)
    assert output_of(first) == 60_000
    second = reserved(limited, output=60_000)
    assert output_of(second) == 40_000
    assert limit_of(reserved(limited)) == "usd"
    assert isinstance(first, Reservation)
    limited.settle(first, PRICED, Usage(0, 1_000))
    assert output_of(reserved(limited, output=60_000)) == 59_000


def test_a_reservation_is_settled_once():
    limited = budget(tokens=10_000)
    room = reserved(limited)
    assert isinstance(room, Reservation)
    limited.settle(room, PRICED, Usage(10))
    limited.settle(room, PRICED, Usage(10))
    assert limited.spent_tokens == 10


def test_a_dollar_limit_without_prices_is_refused_at_the_start_and_before_a_call():
    with pytest.raises(UsageError) as refused:
        check_prices(BudgetLimits(max_usd=1), SCRIPTED_FACTS)
    assert "--max-tokens-total" in refused.value.hint
    assert limit_of(reserved(budget(usd=1), model=SCRIPTED_FACTS)) == "usd"
    check_prices(BudgetLimits(max_total_tokens=1), SCRIPTED_FACTS)


@pytest.mark.parametrize("usd", [1e30, 1e300, 1.7e308])
def test_a_limit_of_any_size_holds(usd: float):
    assert output_of(reserved(budget(usd=usd), output=9_000)) == 9_000


def test_half_a_price_table_is_refused_and_what_lacks_is_named():
    half = facts_of("openai/mystery", {"prices": {"input": 1}})
    with pytest.raises(UsageError, match="`output`"):
        check_prices(BudgetLimits(max_usd=1), half)
    assert limit_of(reserved(budget(usd=1), model=half)) == "usd"


@pytest.mark.parametrize(("name", "written"), [("anthropic/claude-next", 1.25), ("openai/mystery", 1.0)])
def test_a_cache_price_that_nobody_said_is_never_free(name: str, written: float):
    facts = facts_of(name, {"prices": {"input": 1, "output": 1}})
    prices = prices_of(facts)
    assert prices is not None
    million = 1_000_000
    assert cost_usd(Usage(cache_read_input_tokens=million), prices) == 1
    assert cost_usd(Usage(cache_creation_input_tokens=million), prices) == written


def test_a_model_on_this_machine_costs_nothing_but_its_tokens_count():
    check_prices(BudgetLimits(max_usd=1), LOCAL)
    limited = budget(usd=0.01, tokens=50_000)
    used(limited, Usage(30_000), model=LOCAL)
    assert limited.spent_usd == 0
    assert output_of(reserved(limited, model=LOCAL, output=64_000)) == 20_000


def test_counting_starts_again_from_zero():
    limited = budget(tokens=10_000)
    used(limited, Usage(10_000))
    assert limited.warning() is not None
    limited.restart()
    assert output_of(reserved(limited)) == 8_000
    assert limited.warning() is None


# ------------------------------------------------------------------ warnings


def test_the_user_is_warned_once_for_each_limit_at_four_fifths():
    limited = budget(tokens=100_000, usd=10)
    used(limited, Usage(79_000))
    assert limited.warning() is None
    used(limited, Usage(1_000))
    said = limited.warning()
    assert said is not None
    assert "80000 of 100000 tokens" in said
    assert limited.warning() is None


# ------------------------------------------------------------------ time


def timed(seconds: float) -> tuple[TreeBudget, FakeClock]:
    clock = FakeClock()
    return TreeBudget(BudgetLimits(timeout_s=seconds), clock), clock


def test_time_counts_while_a_query_runs_and_not_between():
    limited, clock = timed(10)
    limited.begin()
    clock.advance(4)
    limited.end()
    clock.advance(1_000)
    assert limited.remaining_s == 6
    limited.begin()
    clock.advance(6)
    assert limited.remaining_s == 0
    assert limit_of(reserved(limited)) == "time"


def test_queries_at_the_same_time_count_once():
    limited, clock = timed(10)
    limited.begin()
    clock.advance(2)
    limited.begin()
    clock.advance(2)
    limited.end()
    clock.advance(2)
    limited.end()
    assert limited.remaining_s == 4


def test_time_starts_again_in_the_middle_of_a_query():
    limited, clock = timed(10)
    limited.begin()
    clock.advance(9)
    limited.restart()
    clock.advance(1)
    assert limited.remaining_s == 9


# ------------------------------------------------------------------ any calls

sizes = st.integers(0, 30_000)


@given(
    limit=st.integers(1, 100_000),
    calls=st.lists(st.tuples(sizes, sizes, st.integers(0, MAX_SEARCHES), st.booleans()), max_size=20),
)
def test_calls_that_stay_within_their_reservation_never_exceed_the_limits(
    limit: int, calls: list[tuple[int, int, int, bool]]
):
    limited = budget(tokens=limit, usd=limit * 5 / MILLION)
    running: list[tuple[Reservation, Usage]] = []
    for input_tokens, output, searches, waits in calls:
        room = reserved(limited, input_tokens=input_tokens, output=max(1, output), searches=searches)
        if isinstance(room, Reservation):
            assert 0 < room.max_output_tokens <= max(1, output)
            running.append((room, Usage(0, room.max_output_tokens, 0, input_tokens, web_searches=searches)))
        while running and not waits:
            done, usage = running.pop()
            limited.settle(done, PRICED, usage)
    for room, usage in running:
        limited.settle(room, PRICED, usage)
    assert limited.spent_tokens <= limit
    assert limited.spent_usd <= limit * 5 / MILLION + 1e-9

"""The budget of one engine: limits kept before money is spent, over the main loop and everything it starts.

A call that might exceed a limit is made smaller or not made. What a call really used is counted when it ends; a broken or
aborted one with what is known of it.
"""

import math
from collections.abc import Callable
from typing import Final

import msgspec

from ostinato.engine.costs import FREE, SEARCH_USD, cost_usd, prices_of
from ostinato.errors import UsageError
from ostinato.loop.budget import MIN_OUTPUT_TOKENS, BudgetLimits, BudgetSpent, Limit, Reservation
from ostinato.messages import Usage
from ostinato.ports import Clock, ModelFacts, Prices

WARN_AT: Final = 0.8
"""Of a limit; then the user is told, once."""

_TOKENS_A_PRICE: Final = 1_000_000

_HINTS: Final[dict[Limit, str]] = {
    "usd": "raise `--max-budget-usd` (`max_budget_usd`)",
    "tokens": "raise `--max-tokens-total` (`max_total_tokens`)",
    "time": "raise `--timeout` (`timeout_s`)",
}


def check_prices(limits: BudgetLimits, model: ModelFacts) -> None:
    """Raises UsageError for a dollar limit that cannot be kept."""
    if limits.max_usd is not None and prices_of(model) is None:
        raise UsageError(_unpriced(model), hint=_UNPRICED_HINT)


def _unpriced(model: ModelFacts) -> str:
    if model.missing_prices:
        missing = " and ".join(f"`{name}`" for name in model.missing_prices)
        return f"a limit in dollars needs the prices of `{model.id}`: its price table says no {missing}"
    return f"a limit in dollars needs the prices of `{model.id}`, which are not known"


_UNPRICED_HINT: Final = (
    "limit tokens instead with `--max-tokens-total`, or give the model's prices in the settings (`models`)"
)


class _Held(msgspec.Struct, frozen=True):
    """What a call that runs may still use up."""

    tokens: int = 0
    usd: float = 0.0


class TreeBudget:
    """Implements `Budget`. `spent_tokens` counts all tokens of all calls, `spent_usd` what those with known prices cost."""

    def __init__(self, limits: BudgetLimits, clock: Clock) -> None:
        self.limits = limits
        self.spent_usd = 0.0
        self.spent_tokens = 0
        self._clock = clock
        self._held: dict[int, _Held] = {}
        self._calls = 0
        self._running = 0
        self._since_s = 0.0
        self._past_s = 0.0
        self._warned: set[Limit] = set()

    def restart(self) -> None:
        """Count from zero again. Calls that run are still counted when they end."""
        self.spent_usd, self.spent_tokens = 0.0, 0
        self._past_s, self._since_s = 0.0, self._clock.monotonic_s()
        self._warned.clear()

    # -------------------------------------------------------------------------------------------- calls

    def reserve(
        self, model: ModelFacts, input_tokens: Callable[[], int], max_output_tokens: int, *, searches: int = 0
    ) -> Reservation | BudgetSpent:
        remaining_s = self.remaining_s
        if remaining_s is not None and remaining_s <= 0:
            return self.out_of_time()
        if self.limits.max_usd is None and self.limits.max_total_tokens is None:
            return self._hold(_Held(), max_output_tokens)
        prices = prices_of(model)
        if self.limits.max_usd is not None and prices is None:
            return BudgetSpent("usd", _unpriced(model), _UNPRICED_HINT)
        needed = input_tokens()
        wanted = max_output_tokens
        fits: dict[Limit, int | None] = {
            "tokens": self._fitting_in_tokens(needed),
            "usd": self._fitting_in_usd(needed, searches, prices or FREE),
        }
        for limit, fitting in fits.items():
            if fitting is not None and fitting < min(max_output_tokens, MIN_OUTPUT_TOKENS):
                return self._spent(limit, searches)
            wanted = wanted if fitting is None else min(wanted, fitting)
        return self._hold(
            _Held(needed + wanted, _worst_usd(needed, wanted, searches, prices or FREE)), wanted
        )

    def settle(self, reservation: Reservation, model: ModelFacts, usage: Usage) -> None:
        if self._held.pop(reservation.number, None) is None:
            return
        self.spent_tokens += usage.context_tokens
        prices = prices_of(model)
        if prices is not None:
            self.spent_usd += cost_usd(usage, prices)

    def _hold(self, held: _Held, max_output_tokens: int) -> Reservation:
        self._calls += 1
        self._held[self._calls] = held
        return Reservation(self._calls, max_output_tokens)

    def _fitting_in_tokens(self, input_tokens: int) -> int | None:
        """Output tokens that the limit leaves room for; None without a limit."""
        if self.limits.max_total_tokens is None:
            return None
        held = sum(held.tokens for held in self._held.values())
        return self.limits.max_total_tokens - self.spent_tokens - held - input_tokens

    def _fitting_in_usd(self, input_tokens: int, searches: int, prices: Prices) -> int | None:
        if self.limits.max_usd is None or (prices == FREE and not searches):
            return None
        held = sum(held.usd for held in self._held.values())
        left = self.limits.max_usd - self.spent_usd - held - _worst_usd(input_tokens, 0, searches, prices)
        if prices.output <= 0:
            return None if left >= 0 else 0
        room = left * _TOKENS_A_PRICE / prices.output
        return int(room) if math.isfinite(room) else None

    # -------------------------------------------------------------------------------------------- time

    def begin(self) -> None:
        if self._running == 0:
            self._since_s = self._clock.monotonic_s()
        self._running += 1

    def end(self) -> None:
        self._running -= 1
        if self._running == 0:
            self._past_s += self._clock.monotonic_s() - self._since_s

    @property
    def spent_s(self) -> float:
        """How long queries have run; those at the same time count once."""
        now = self._clock.monotonic_s() - self._since_s if self._running else 0.0
        return self._past_s + now

    @property
    def remaining_s(self) -> float | None:
        return None if self.limits.timeout_s is None else self.limits.timeout_s - self.spent_s

    # -------------------------------------------------------------------------------------------- words

    def warning(self) -> str | None:
        for limit, used in self._used().items():
            is_over = limit == "time" and used >= 1  # that ends the query, and says so itself
            if used >= WARN_AT and not is_over and limit not in self._warned:
                self._warned.add(limit)
                return f"{int(100 * used)} % of the budget is used: {self._account(limit)}"
        return None

    def out_of_time(self) -> BudgetSpent:
        return self._spent("time")

    def _used(self) -> dict[Limit, float]:
        """The used part of each limit."""
        limits, used = self.limits, dict[Limit, float]()
        if limits.max_usd is not None:
            used["usd"] = self.spent_usd / limits.max_usd
        if limits.max_total_tokens is not None:
            used["tokens"] = self.spent_tokens / limits.max_total_tokens
        if limits.timeout_s is not None:
            used["time"] = self.spent_s / limits.timeout_s
        return used

    def _spent(self, limit: Limit, searches: int = 0) -> BudgetSpent:
        if limit == "time":
            return BudgetSpent(limit, f"the time is over: {self._account(limit)}", _HINTS[limit])
        message = f"the budget leaves no room for another model call: {self._account(limit)}"
        if limit == "usd" and searches:
            message += (
                f", and the {searches} searches that it may make cost up to ${searches * SEARCH_USD:.2f}"
            )
        return BudgetSpent(limit, message, _HINTS[limit])

    def _account(self, limit: Limit) -> str:
        match limit:
            case "usd":
                return f"${self.spent_usd:.4f} of ${self.limits.max_usd or 0:g}"
            case "tokens":
                return f"{self.spent_tokens} of {self.limits.max_total_tokens} tokens"
            case "time":
                return f"{_seconds(self.spent_s)} of {self.limits.timeout_s or 0:g} s"


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.3g}"


def _worst_usd(input_tokens: int, output_tokens: int, searches: int, prices: Prices) -> float:
    """What a call costs at most: no token of its input was cached before, all of it is put into the cache, and the provider
    searches as often as it may.
    """
    dearest = max(prices.input, prices.cache_write or 0, prices.cache_read or 0)
    tokens_usd = (input_tokens * dearest + output_tokens * prices.output) / _TOKENS_A_PRICE
    return tokens_usd + searches * SEARCH_USD

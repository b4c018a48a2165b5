"""What tokens cost, by model: the one place where usage meets prices. What has no known price is said to be unknown, not free."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from ostinato.events import ModelCost
from ostinato.messages import NO_USAGE, Usage
from ostinato.ports import ModelFacts, Prices

_TOKENS_A_PRICE: Final = 1_000_000

SEARCH_USD: Final = 0.01
"""What a search that the provider runs costs, at Anthropic and at OpenAI alike (November 2026: 10 dollars a thousand)."""

FREE: Final = Prices(0, 0, 0, 0)

ANTHROPIC_CACHE_WRITE: Final = 1.25
"""Times the input price: what writing to the cache for five minutes costs there."""

FactsOf = Callable[[str], ModelFacts | None]
"""What is known of a model by the name its responses carry; None if nothing is."""


def cost_usd(usage: Usage, prices: Prices) -> float:
    """US dollars for these tokens and searches. A cache price that is not said is that of input."""
    read = prices.input if prices.cache_read is None else prices.cache_read
    written = prices.input if prices.cache_write is None else prices.cache_write
    return (
        usage.input_tokens * prices.input
        + usage.output_tokens * prices.output
        + usage.cache_read_input_tokens * read
        + usage.cache_creation_input_tokens * written
    ) / _TOKENS_A_PRICE + usage.web_searches * SEARCH_USD


def prices_of(model: ModelFacts) -> Prices | None:
    """None if they are not known. A model on this machine costs nothing. A cache price that nobody said counts as input, and
    writing at Anthropic as 1.25 times that: too much is a limit reached early, too little is none.
    """
    if model.provider == "local":
        return FREE
    prices = model.prices
    if prices is None or prices.cache_write is not None or model.provider != "anthropic":
        return prices
    return msgspec.structs.replace(prices, cache_write=ANTHROPIC_CACHE_WRITE * prices.input)


def model_cost(usage: Usage, facts: ModelFacts | None) -> ModelCost:
    if facts is None:
        return ModelCost(usage)
    prices = prices_of(facts)
    cost = None if prices is None else cost_usd(usage, prices)
    return ModelCost(usage, cost, facts.context_window, facts.max_output_tokens)


class Spent:
    """Tokens by model, added up as responses end."""

    def __init__(self) -> None:
        self._by_model: dict[str, Usage] = {}

    def add(self, model: str, usage: Usage) -> None:
        """A model is listed once something was spent on it."""
        if usage == NO_USAGE:
            return
        self._by_model[model] = self._by_model.get(model, NO_USAGE).plus(usage)

    @property
    def usage(self) -> Usage:
        """The sum over all models."""
        total = NO_USAGE
        for usage in self._by_model.values():
            total = total.plus(usage)
        return total

    def costs(self, facts_of: FactsOf) -> Mapping[str, ModelCost]:
        return {model: model_cost(usage, facts_of(model)) for model, usage in self._by_model.items()}


def total_cost_usd(costs: Mapping[str, ModelCost]) -> float:
    """The sum of what is known."""
    return sum(cost.cost_usd or 0.0 for cost in costs.values())


def is_cost_known(costs: Mapping[str, ModelCost]) -> bool:
    """Whether every model that was used has prices."""
    return all(cost.cost_usd is not None for cost in costs.values())

"""What the next request costs where the provider's cache no longer holds its beginning, beside what it costs from the cache: said
before something is done that the cache does not survive. Input alone; what is not known is said to be unknown.
"""

from ostinato.engine.costs import cost_usd, prices_of
from ostinato.messages import Usage
from ostinato.ports import ModelFacts

NOT_KNOWN = "a price that is not known"


def anew_usd(tokens: int, model: ModelFacts, *, kept_tokens: int = 0) -> float | None:
    """For a request of so many tokens, of which the cache holds `kept_tokens`."""
    prices = prices_of(model)
    if prices is None or (kept_tokens and cached_usd(kept_tokens, model) is None):
        return None
    kept = min(kept_tokens, tokens)
    return cost_usd(Usage(cache_creation_input_tokens=tokens - kept, cache_read_input_tokens=kept), prices)


def cached_usd(tokens: int, model: ModelFacts) -> float | None:
    """For a request of which the cache holds all. None too where only the price of the cache is not known."""
    prices = prices_of(model)
    if prices is None or prices.cache_read is None:
        return None
    return cost_usd(Usage(cache_read_input_tokens=tokens), prices)


def shown_price(usd: float | None) -> str:
    if usd is None:
        return NOT_KNOWN
    return f"about ${usd:.4f}" if usd else "nothing"


def price_of_change(tokens: int, model: ModelFacts, *, kept_tokens: int = 0, was_tokens: int = 0) -> str:
    """One sentence. `was_tokens`: what the request would have had without the change; 0: as many."""
    anew = shown_price(anew_usd(tokens, model, kept_tokens=kept_tokens))
    cached = shown_price(cached_usd(was_tokens or tokens, model))
    part = f", of which {kept_tokens:,} stay in the cache" if kept_tokens else ""
    return f"the next request has about {tokens:,} tokens{part}: it costs {anew}; without the change, from the cache, {cached}\n"


def price_of_other_model(tokens: int, before: ModelFacts | None, after: ModelFacts) -> str:
    """`before`: the one whose cache holds the conversation; None where nothing is known of it."""
    anew = f"the next request has about {tokens:,} tokens, which the new model reads anew: {shown_price(anew_usd(tokens, after))}"
    if before is None:
        return f"{anew}\n"
    return (
        f"{anew}; the one before would read them from its cache: {shown_price(cached_usd(tokens, before))}\n"
    )

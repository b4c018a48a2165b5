"""The models that may take over from the chosen one: opened by their names, given back with the engine.

One that cannot be had (no key, no price under a limit in dollars) is left out and named: the conversation does not need it yet.
"""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import msgspec

from ostinato.engine.budget import check_prices
from ostinato.engine.fresh_key import other_key_refresher
from ostinato.engine.model_choice import ChosenModel
from ostinato.engine.options import MAX_FALLBACK_MODELS, Options
from ostinato.engine.thinking import thinking_for
from ostinato.errors import OstinatoError
from ostinato.loop.budget import BudgetLimits
from ostinato.loop.fallback import Fallbacks, Substitute


class FallbackModels(msgspec.Struct, frozen=True):
    """The chain as the loop uses it, with sentences for the user about what is left out."""

    fallbacks: Fallbacks
    opened: tuple[ChosenModel, ...] = ()
    notices: tuple[str, ...] = ()

    async def aclose(self) -> None:
        if not self.opened:
            return
        async with AsyncExitStack() as every_one:
            for chosen in self.opened:
                every_one.push_async_callback(chosen.aclose)


def open_fallbacks(
    options: Options,
    limits: BudgetLimits,
    open_model: Callable[[str], ChosenModel],
    *,
    first: ChosenModel | None = None,
) -> FallbackModels:
    """Nothing is sent. Raises nothing: what is wrong with a model is a notice. `first` is the model of the options."""
    opened: list[ChosenModel] = []
    notices: list[str] = []
    names = tuple(dict.fromkeys(options.fallback_models))
    if len(names) > MAX_FALLBACK_MODELS:
        notices.append(
            f"only {MAX_FALLBACK_MODELS} fallback models are used; left out: {_listed(names[MAX_FALLBACK_MODELS:])}"
        )
    for name in names[:MAX_FALLBACK_MODELS]:
        try:
            chosen = open_model(name)
            check_prices(limits, chosen.facts)
            opened.append(chosen)
        except OstinatoError as error:
            notices.append(f"the fallback model `{name}` is left out: {error.message}")
    return FallbackModels(
        Fallbacks(tuple(_substitute(chosen, options, first) for chosen in opened)),
        tuple(opened),
        tuple(notices),
    )


def _substitute(chosen: ChosenModel, options: Options, first: ChosenModel | None) -> Substitute:
    thinking = thinking_for(chosen.facts, options.thinking, options.effort).thinking
    refresh = other_key_refresher(options, chosen, first)
    return Substitute(chosen.facts, chosen.model.stream, thinking, refresh)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)

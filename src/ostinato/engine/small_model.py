"""The small model that tools may ask beside the conversation: opened by its name, given back with the engine.

One that cannot be had (no key, no price under a limit in dollars) is left out and named: tools do without it.
"""

from collections.abc import Callable, Mapping

import msgspec

from ostinato.engine.budget import check_prices
from ostinato.engine.configuration import SMALL_MODEL_VARIABLE
from ostinato.engine.fresh_key import other_key_refresher
from ostinato.engine.model_choice import ChosenModel, close_model
from ostinato.engine.options import Options
from ostinato.errors import OstinatoError
from ostinato.loop.budget import BudgetLimits
from ostinato.loop.deps import SideModel


class SmallModel(msgspec.Struct, frozen=True):
    """As the loop uses it, with a sentence for the user where it was left out."""

    side_model: SideModel | None = None
    opened: ChosenModel | None = None
    notices: tuple[str, ...] = ()

    async def aclose(self) -> None:
        if self.opened is not None:
            await close_model(self.opened)


def open_small_model(
    options: Options,
    limits: BudgetLimits,
    open_model: Callable[[str], ChosenModel],
    environment: Mapping[str, str],
    *,
    first: ChosenModel | None = None,
) -> SmallModel:
    """Nothing is sent. Raises nothing. A model that the caller brought stays the caller's to close. `first` is the model of the
    options.
    """
    wanted = options.small_model or environment.get(SMALL_MODEL_VARIABLE) or None
    if wanted is None:
        return SmallModel()
    if not isinstance(wanted, str):
        return SmallModel(SideModel(wanted.stream, wanted.facts))
    try:
        chosen = open_model(wanted)
        check_prices(limits, chosen.facts)
    except OstinatoError as error:
        return SmallModel(notices=(f"the small model `{wanted}` is left out: {error.message}",))
    refresh = other_key_refresher(options, chosen, first)
    return SmallModel(SideModel(chosen.model.stream, chosen.facts, refresh), chosen)

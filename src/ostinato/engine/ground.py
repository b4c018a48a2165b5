"""What a conversation stands on: options that were checked, settings in effect, folders, the model and the session, opened in this order.

Promise: what cannot be meant is refused before anything is opened, and no session is opened for a model that cannot be had.
"""

from functools import partial
from pathlib import Path

import msgspec
from anyio import to_thread
from msgspec.structs import replace

from ostinato.engine.budget import check_prices
from ostinato.engine.configuration import (
    Configuration,
    InEffect,
    find_configuration,
    given_configuration,
    in_effect,
    started_with,
)
from ostinato.engine.folders import named_folders
from ostinato.engine.model_access import ModelAccess
from ostinato.engine.model_choice import ChosenModel
from ostinato.engine.offered_tools import with_admitted_tools
from ostinato.engine.option_checks import check_options
from ostinato.engine.option_types import usable_options
from ostinato.engine.options import Options
from ostinato.engine.session import Session, new_session, resumed_session, session_to_go_on
from ostinato.engine.session_model import ModelGround, kept_name, reach_model
from ostinato.loop.budget import BudgetLimits


class Ground(msgspec.Struct, frozen=True):
    """What was checked and opened before anything is built on it."""

    configuration: Configuration
    effect: InEffect
    environment: dict[str, str]
    cwd: Path
    roots: tuple[Path, ...]
    access: ModelAccess
    chosen: ChosenModel
    session: Session

    @property
    def home(self) -> Path | None:
        return self.configuration.home

    @property
    def data_root(self) -> Path | None:
        return self.configuration.places.data_root


async def ground_of(options: Options) -> Ground:
    """Raises what `start_engine` raises."""
    check_options(options)
    options = asked = usable_options(options)
    configuration = given_configuration(options) or await find_configuration(options)
    effect = in_effect(options, configuration)
    options = effect.options
    environment = dict(started_with(options))
    resolved = None if options.configuration is configuration else configuration.cwd
    cwd, roots = named_folders(options, configuration.home, resolved)
    root = configuration.places.data_root
    is_new = options.resume is None and not options.continue_session
    file = None if is_new else await to_thread.run_sync(session_to_go_on, options, root, cwd)
    reached = await reach_model(effect, ModelGround(asked, configuration, environment, cwd, file))
    effect, facts = reached.effect, reached.chosen.facts
    check_prices(limits_of(options), facts)
    effect = replace(effect, options=with_admitted_tools(effect.options, effect.rules, facts))
    if file is None:
        session = new_session(options, root, cwd)
    else:  # all that was said is read
        session = await to_thread.run_sync(partial(resumed_session, file, model=kept_name(facts)))
    return Ground(configuration, effect, environment, cwd, roots, reached.access, reached.chosen, session)


def limits_of(options: Options) -> BudgetLimits:
    return BudgetLimits(options.max_budget_usd, options.max_total_tokens, options.timeout_s)

"""A session that goes on does so with its last model, unless the caller names one; where that cannot be had, the usual one answers.

Promise: nobody is answered by another model than before without a word.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ostinato.engine.clock import SystemClock
from ostinato.engine.configuration import Configuration, InEffect
from ostinato.engine.model_access import ModelAccess, model_access
from ostinato.engine.model_choice import ChosenModel, is_local_model
from ostinato.engine.no_model import NO_MODEL
from ostinato.engine.options import Options
from ostinato.errors import ConfigurationError, LocalModelError
from ostinato.ports import ModelFacts


class ReachedModel(msgspec.Struct, frozen=True):
    """What the model is reached with, the model, and the settings in effect with it: their `options` name it."""

    access: ModelAccess
    chosen: ChosenModel
    effect: InEffect


class ModelGround(msgspec.Struct, frozen=True):
    """What a model is chosen on. `session_file`: of the session that goes on; None for a new one."""

    asked: Options
    configuration: Configuration
    environment: Mapping[str, str]
    cwd: Path
    session_file: Path | None = None


async def reach_model(effect: InEffect, ground: ModelGround) -> ReachedModel:
    """Raises what choosing the usual model raises."""
    last = _last_model(ground)
    usual = effect.options.model
    if not last or last == usual:
        return await _reached(effect, ground)
    changed = replace(effect, options=replace(effect.options, model=last))
    try:
        reached = await _reached(changed, ground)
    except (ConfigurationError, LocalModelError) as error:
        reached = await _reached(effect, ground)
        if reached.chosen.facts.id == last:  # a name that says no provider, and the usual model's own
            return reached
        said = f"the session's model `{last}` cannot be had, so `{reached.chosen.facts.id}` answers: {error.message}"
        return _noted(reached, said)
    if isinstance(usual, str) and not _means(usual, reached.chosen.facts):
        said = f"the session goes on with `{last}`, its last model; `--model {usual}` chooses the one of the settings"
        return _noted(reached, said)
    return reached


def kept_name(facts: ModelFacts) -> str:
    """By which the model is found again: with its provider where the id alone does not say it; "" where there is no model."""
    if facts.provider == NO_MODEL.provider:
        return ""
    if facts.provider not in {"anthropic", "openai"}:
        return facts.id
    from ostinato.providers.catalogue import full_name  # ruff: ignore[import-outside-top-level] - a local model needs none of it

    try:
        is_told = full_name(facts.id) == f"{facts.provider}/{facts.id}"
    except ConfigurationError:
        is_told = False
    if is_told:
        return facts.id
    return f"openai-{facts.openai_wire}/{facts.id}" if facts.provider == "openai" else f"anthropic/{facts.id}"


def _last_model(ground: ModelGround) -> str:
    asked = ground.asked
    if ground.session_file is None or asked.model is not None or asked.model_overrides:
        return ""
    from ostinato.journal.last_model import last_model  # ruff: ignore[import-outside-top-level] - only for a session that goes on

    return last_model(ground.session_file)


async def _reached(effect: InEffect, ground: ModelGround) -> ReachedModel:
    options, configuration = effect.options, ground.configuration
    access = await model_access(
        options, effect, configuration, ground.environment, cwd=ground.cwd, clock=SystemClock()
    )
    return ReachedModel(access, access.choose(options, data_root=configuration.places.data_root), effect)


def _means(name: str, facts: ModelFacts) -> bool:
    """Whether the settings name the very model that goes on."""
    if is_local_model(name):
        return name == facts.id
    from ostinato.providers.catalogue import full_name  # ruff: ignore[import-outside-top-level] - as above

    try:
        return full_name(name).partition("/")[2] == facts.id
    except ConfigurationError:
        return False


def _noted(reached: ReachedModel, notice: str) -> ReachedModel:
    return replace(reached, effect=replace(reached.effect, notices=(*reached.effect.notices, notice)))

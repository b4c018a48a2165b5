"""Which model a conversation talks to: one the caller brings, one named by a string, or the one the environment has a key for."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from ostinato.engine.options import Options
from ostinato.home_folder import NO_HOME, home_of
from ostinato.ports import Model, ModelFacts

SMALL_MODEL = "this is a small local model: it may be wrong, and say it is done when it is not"


class ChosenModel(msgspec.Struct, frozen=True):
    """A model and how to give it back; `notices` are for the user."""

    model: Model
    aclose: Callable[[], Awaitable[None]]
    notices: tuple[str, ...] = ()

    @property
    def facts(self) -> ModelFacts:
        return self.model.facts


async def close_model(chosen: ChosenModel) -> None:
    """Give the model back. A connection that cannot be closed well is never worth a query, or a change of model."""
    try:
        await chosen.aclose()
    except Exception as error:  # ruff: ignore[blind-except] - whatever a model's own code raises
        logging.getLogger("ostinato").warning("the model could not be closed: %r", error)


async def _kept_by_caller() -> None:
    """A model that the caller brought is the caller's to close."""


def choose_model(options: Options, environment: Mapping[str, str], *, data_root: Path | None) -> ChosenModel:
    """Raises ConfigurationError (no key, unknown provider) or LocalModelError. Adapters are loaded only when chosen."""
    name = options.model
    if name is not None and not isinstance(name, str):
        return ChosenModel(name, _kept_by_caller)
    if name is not None and is_local_model(name):
        return _local(name, (data_root or NO_HOME) / "models", home_of(environment))
    from ostinato.providers.connect import model_from_environment  # ruff: ignore[import-outside-top-level] - an adapter loads when it is chosen

    model = model_from_environment(
        name, environment, options.model_overrides, models=options.models, deadlines=options.deadlines
    )
    return ChosenModel(model, model.aclose)


def is_local_model(name: str | None) -> bool:
    """Whether the model runs on this machine, so that no server and no key is needed."""
    return name is not None and (name == "local" or name.startswith("local/"))


def _local(name: str, models_folder: Path, home: Path | None) -> ChosenModel:
    from ostinato.providers.local import open_local_model  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.providers.local_runtime import LoadedModels, load_with_xllamacpp  # ruff: ignore[import-outside-top-level] - as above

    loaded = LoadedModels(load_with_xllamacpp)
    model = open_local_model(name, models_folder=models_folder, home=home, loaded=loaded)

    async def close() -> None:
        loaded.close()

    return ChosenModel(model, close, (SMALL_MODEL,))

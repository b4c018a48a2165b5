"""What models are reached with: the environment, and the key of a command of the settings where that has none.

Promise: the command runs only for a model that needs its key; nothing of it is loaded where no settings name one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from ostinato.engine.configuration import Configuration, InEffect
from ostinato.engine.fresh_key import TakesKey
from ostinato.engine.model_choice import ChosenModel, choose_model, is_local_model
from ostinato.engine.options import Options
from ostinato.engine.setting import KeySource
from ostinato.ports import Clock

if TYPE_CHECKING:
    from ostinato.engine.helper_keys import HelperKeys

USUAL_PROVIDER: Final = "anthropic"


class ModelAccess(msgspec.Struct, frozen=True):
    """`keys` are for the models of `provider` alone: a key is shown to no other one's server."""

    environment: Mapping[str, str]
    provider: str = ""
    first_key: str = ""
    keys: "HelperKeys | None" = None

    def choose(self, options: Options, *, data_root: Path | None) -> ChosenModel:
        """Raises what `choose_model` raises."""
        chosen = choose_model(options, self.environment, data_root=data_root)
        is_keyed = isinstance(options.model, str | None) and chosen.facts.provider == self.provider
        if self.keys is None or not is_keyed or not isinstance(chosen.model, TakesKey):
            return chosen
        from ostinato.engine.helper_keys import KeyedModel  # ruff: ignore[import-outside-top-level] - most settings name no command

        return replace(chosen, model=KeyedModel(chosen.model, self.keys, self.first_key))

    def newest_key(self) -> str:
        """The last key that the command gave; "" without one."""
        return "" if self.keys is None else self.keys.newest

    def key_source(self, provider: str) -> KeySource:
        """Where the key of this provider's models is from."""
        if self.keys is not None and provider == self.provider:
            return "apiKeyHelper"
        is_set = provider == USUAL_PROVIDER and self.environment.get("ANTHROPIC_API_KEY", "").strip()
        return "ANTHROPIC_API_KEY" if is_set else "none"


async def model_access(
    options: Options,
    effect: InEffect,
    configuration: Configuration,
    environment: Mapping[str, str],
    *,
    cwd: Path,
    clock: Clock,
) -> ModelAccess:
    """Asks the command, if there is one and the model needs it. Raises ConfigurationError where that gives no key."""
    helper = effect.key_helper
    provider = "" if helper is None else provider_without_key(options, environment)
    if helper is None or not provider:
        return ModelAccess(environment)
    from ostinato.engine.helper_keys import HelperKeys  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.engine.key_helper import ask_command, kept_s, key_command  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.providers.connect import KEY_VARIABLES  # ruff: ignore[import-outside-top-level] - as above

    command = key_command(helper, configuration, environment, provider=provider, cwd=cwd)
    if command is None:
        return ModelAccess(environment)
    first = await ask_command(command)
    keys = HelperKeys(
        lambda: ask_command(command), first, kept_s=kept_s(environment), clock=clock, tell=options.on_notice
    )
    return ModelAccess({**environment, KEY_VARIABLES[provider][0]: first}, provider, first, keys)


def provider_without_key(options: Options, environment: Mapping[str, str]) -> str:
    """Whose key the model of the options wants and nobody gave; "" where there is one, or the host knows keys itself."""
    name = options.model
    if options.refresh_api_key is not None or not isinstance(name, str | None) or is_local_model(name):
        return ""
    from ostinato.providers.catalogue import full_name  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.providers.connect import KEY_VARIABLES  # ruff: ignore[import-outside-top-level] - as above

    if name is None:
        given = any(environment.get(key, "").strip() for keys in KEY_VARIABLES.values() for key in keys)
        return "" if given else USUAL_PROVIDER
    provider = full_name(name).partition("/")[0]
    keys = KEY_VARIABLES.get(provider, ())
    return provider if keys and not any(environment.get(key, "").strip() for key in keys) else ""

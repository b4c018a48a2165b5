"""The way to a model: keys, base URLs, proxies, and whether the chosen server answers. Keys are shown masked and never sent."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from ostinato.cli.doctor.check import Check, masked_key, variable
from ostinato.engine.configuration import Configuration, InEffect
from ostinato.engine.key_helper import key_command
from ostinato.engine.model_access import provider_without_key
from ostinato.engine.options import Options
from ostinato.errors import LocalModelError, OstinatoError
from ostinato.providers.address import shown_url
from ostinato.providers.connect import (
    ANTHROPIC_URL,
    KEY_VARIABLES,
    OPENAI_URL,
    URL_VARIABLES,
    model_from_environment,
)
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.local_models import LOCAL_MODELS, model_path
from ostinato.providers.local_runtime import check_runtime
from ostinato.providers.reach import Unreached, reach

REACH_TIMEOUT_S: Final = 5.0
PROXY_VARIABLES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
OFFICIAL: Final[Mapping[str, str]] = {"anthropic": ANTHROPIC_URL, "openai": OPENAI_URL}


class HelperKey(msgspec.Struct, frozen=True):
    """The command of the settings that will give the key, as it is shown, and the provider that it is asked for."""

    command: str
    provider: str

    def check(self) -> Check:
        """It may ask its user something, so that it is not tried."""
        return Check(
            "apiKeyHelper", "ok", f"{self.command} gives the key when it is needed; it is not run here"
        )

    def standing_in(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        """The environment as it will be; nothing that stands in it now is sent anywhere."""
        return {**environment, KEY_VARIABLES[self.provider][0]: "given-by-apiKeyHelper"}


def helper_key(
    options: Options, effect: InEffect, configuration: Configuration, environment: Mapping[str, str]
) -> HelperKey | None:
    """None where no settings name a command, or the model needs none of its keys."""
    helper = effect.key_helper
    provider = "" if helper is None else provider_without_key(options, environment)
    if helper is None or not provider:
        return None
    command = key_command(helper, configuration, environment, provider=provider, cwd=Path(options.cwd))
    return None if command is None else HelperKey(str(command), provider)


def key_checks(environment: Mapping[str, str], helper: HelperKey | None) -> list[Check]:
    keys = [
        Check(name, "ok", masked_key(variable(environment, name)))
        for names in KEY_VARIABLES.values()
        for name in names
        if variable(environment, name)
    ]
    urls = [
        Check(name, "ok", shown_url(variable(environment, name)))
        for name in URL_VARIABLES
        if variable(environment, name)
    ]
    helped = [] if helper is None else [helper.check()]
    return [*keys, *urls, *helped] or [
        Check("keys", "warn", "no key and no base URL is set", "set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, or use `--model local`")
    ]  # fmt: skip


def proxy_checks(environment: Mapping[str, str]) -> list[Check]:
    found: list[Check] = []
    for name in PROXY_VARIABLES:
        value = variable(environment, name) or variable(environment, name.upper())
        if value:
            found.append(Check(name, "ok", shown_url(value)))
    return found


async def model_checks(name: str | None, environment: Mapping[str, str], models: Path | None) -> list[Check]:
    """The model that a conversation would use, and the way to it."""
    if name is not None and (name == "local" or name.startswith("local/")):
        return local_checks(models, is_chosen=True)
    try:
        model = model_from_environment(name, environment)
    except OstinatoError as error:
        return [Check("model", "fail", error.message, error.hint)]
    facts = model.facts
    found = Check("model", "ok", f"{facts.provider}/{facts.id}")
    return [found, await endpoint_check(facts.provider, environment), *local_checks(models, is_chosen=False)]


async def endpoint_check(provider: str, environment: Mapping[str, str]) -> Check:
    url = variable(environment, f"{provider.upper()}_BASE_URL") or OFFICIAL[provider]
    found = await reach(url, HttpSettings(environment), timeout_s=REACH_TIMEOUT_S)
    if isinstance(found, Unreached):
        return Check("endpoint", "fail", found.what, found.hint)
    through = f" through {shown_url(found.proxy)}" if found.proxy else ""
    tls = "TLS is trusted, " if url.startswith("https://") else ""
    text = f"{shown_url(url)} answers{through}: {tls}{found.seconds * 1000:.0f} ms"
    return Check("endpoint", "ok", text)


def local_checks(models: Path | None, *, is_chosen: bool) -> list[Check]:
    """The local model and its runtime; that they are missing only matters to who chose them."""
    missing = "fail" if is_chosen else "ok"
    try:
        check_runtime()
        runtime = Check("local runtime", "ok", "installed")
    except LocalModelError as error:
        runtime = Check("local runtime", missing, error.message if is_chosen else "not installed", error.hint)
    there = [
        model.name
        for model in LOCAL_MODELS
        if models is not None and os.path.isfile(model_path(model, models))
    ]
    if there:
        return [runtime, Check("local model", "ok", ", ".join(there))]
    return [runtime, Check("local model", missing, "none downloaded", "`ostinato local pull` gets one")]

"""How a failing model call is tried again, as the environment says; what makes no sense is an error, not a default."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from ostinato.errors import ConfigurationError
from ostinato.state import QueryConfig

VARIABLE: Final = "OSTINATO_MAX_RETRIES"
MOST_RETRIES: Final = 15
UNATTENDED: Final = "OSTINATO_UNATTENDED"
YES: Final = frozenset({"1", "true", "yes", "on"})
NO: Final = frozenset({"", "0", "false", "no", "off"})


def with_retries(config: QueryConfig, environment: Mapping[str, str]) -> QueryConfig:
    """The configuration with `OSTINATO_MAX_RETRIES` and `OSTINATO_UNATTENDED` where they are set. Raises ConfigurationError."""
    return _with_count(_with_presence(config, environment), environment)


def _with_count(config: QueryConfig, environment: Mapping[str, str]) -> QueryConfig:
    said = environment.get(VARIABLE, "")
    if not said:
        return config
    if not (said.isascii() and said.isdecimal() and int(said) <= MOST_RETRIES):
        raise ConfigurationError(
            f"`{VARIABLE}` is `{said}`", hint=f"it takes a whole number from 0 to {MOST_RETRIES}"
        )
    return replace(config, max_retries=int(said))


def _with_presence(config: QueryConfig, environment: Mapping[str, str]) -> QueryConfig:
    said = environment.get(UNATTENDED)
    if said is None:
        return config
    if said.lower() not in YES | NO:
        raise ConfigurationError(f"`{UNATTENDED}` is `{said}`", hint="it takes `1` or `0`")
    return replace(config, is_unattended=said.lower() in YES)

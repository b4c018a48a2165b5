"""How often a failing model call is made again, as the environment says; what is no such number is an error, not a default."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ostinato.errors import ConfigurationError
from ostinato.state import QueryConfig

VARIABLE: Final = "OSTINATO_MAX_RETRIES"
MOST_RETRIES: Final = 15


def with_retries(config: QueryConfig, environment: Mapping[str, str]) -> QueryConfig:
    """The configuration with `OSTINATO_MAX_RETRIES` if it is set. Raises ConfigurationError."""
    said = environment.get(VARIABLE, "")
    if not said:
        return config
    if not (said.isascii() and said.isdecimal() and int(said) <= MOST_RETRIES):
        raise ConfigurationError(
            f"`{VARIABLE}` is `{said}`", hint=f"it takes a whole number from 0 to {MOST_RETRIES}"
        )
    return replace(config, max_retries=int(said))

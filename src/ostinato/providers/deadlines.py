"""How long a model call may be waited for, as one value: to connect, to a first event, between events, and in all.

Only time spent waiting for the server counts: a consumer that takes its time between two events uses none of it.
"""

from collections.abc import Mapping
from math import isfinite

import msgspec
from msgspec.structs import replace

from ostinato.errors import ConfigurationError


class Deadlines(msgspec.Struct, frozen=True):
    """Seconds. `first_byte_s` runs from the request to the reply's first event, `idle_s` from one event to the next
    (pings are events, comments are not), `total_s` over the whole reply. `whole_reply_s` takes the place of these three
    for a reply in one piece, which is silent until it is finished.

    The idle limit is the five minutes that the field uses between events: models that think are silent for long.
    """

    connect_s: float = 15.0
    write_s: float = 60.0
    first_byte_s: float = 300.0
    idle_s: float = 300.0
    total_s: float = 3600.0
    whole_reply_s: float = 300.0


DEFAULT_DEADLINES = Deadlines()


def variable_of(field: str) -> str:
    """The environment variable for a limit: `idle_s` is `OSTINATO_IDLE_TIMEOUT_S`."""
    return f"OSTINATO_{field.removesuffix('_s').upper()}_TIMEOUT_S"


def deadlines_from(environment: Mapping[str, str], defaults: Deadlines = DEFAULT_DEADLINES) -> Deadlines:
    """`defaults`, changed by what the environment sets. Raises `ConfigurationError` for what is no number of seconds."""
    wished = {
        field: _seconds(variable_of(field), environment[variable_of(field)])
        for field in Deadlines.__struct_fields__
        if environment.get(variable_of(field), "").strip()
    }
    return replace(defaults, **wished) if wished else defaults


def _seconds(variable: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not (isfinite(seconds) and seconds > 0):
        raise ConfigurationError(
            f"`{variable}` is `{text}`, which is no time limit", hint="give seconds, such as `300` or `2.5`"
        )
    return seconds

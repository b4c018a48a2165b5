"""How long something may take, as people write it: `90`, `90s`, `5m`, `1h30m`."""

import re
from typing import Final

import click

_PARTS: Final = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?", re.IGNORECASE)

_FOR_EVER_S: Final = 1e9


def duration_s(text: str) -> float:
    """Seconds. Raises ValueError for what is no duration, or none that anything could be done in."""
    found = _PARTS.fullmatch(text.strip()) if text.isascii() else None
    if found is None:
        raise ValueError(f"`{text}` is no duration")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    total_s = hours * 3600 + minutes * 60 + seconds
    if not 0 < total_s < _FOR_EVER_S:
        raise ValueError(f"`{text}` is no duration in which anything ends")
    return total_s


class DurationType(click.ParamType[float]):
    """Seconds, given as a number or with units."""

    name = "duration"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return duration_s(value)
        except ValueError:
            self.fail(f"`{value}` is no duration such as `90`, `5m` or `1h30m`", param, ctx)

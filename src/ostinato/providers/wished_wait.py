"""How long a server wants to be left alone, out of the many headers and words that say so. Seconds, or None for no wish."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from ostinato.errors import LONGEST_RETRY_AFTER_S

EPOCH_S = 1_000_000_000
"""A number above it is a moment, not a duration: nobody is asked to wait thirty years."""

DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
UNITS_S: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
WORDS = re.compile(
    r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|s|m|h|d)\s*)+|\d+(?:\.\d+)? second)",
    re.IGNORECASE,
)


def wished_wait_s(headers: Mapping[str, str], now: datetime, *, text: str = "") -> float | None:
    """`Retry-After` in milliseconds, seconds or as a date; else when a limit that is used up will be reset; else what
    `text` says. Wishes in the past and nonsense are none, and hide no other wish; none is longer than
    `LONGEST_RETRY_AFTER_S`. Header names are in lower case."""
    for wish in (_retry_after, _reset):
        seconds = wish(headers, now)
        if seconds is not None:
            return seconds
    found = WORDS.search(text)
    return _usable(_duration_s(found[1].replace(" second", "s"))) if found else None


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    in_milliseconds = _number_s(headers.get("retry-after-ms", ""), 0.001)
    if in_milliseconds is not None:
        return in_milliseconds
    wish = headers.get("retry-after", "")
    in_seconds = _number_s(wish, 1.0)
    return in_seconds if in_seconds is not None or not wish else _usable(_seconds_until_date(wish, now))


def _number_s(text: str, unit_s: float) -> float | None:
    try:
        return _usable(float(text) * unit_s)
    except ValueError:
        return None


def _reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """The latest reset of those limits that have nothing left."""
    waits = [_moment_s(value, now) for value in _used_up(headers)]
    return max((wait for wait in waits if wait is not None), default=None)


def _used_up(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if "ratelimit" not in name or "reset" not in name:
            continue
        left = headers.get(name.replace("reset", "remaining"))
        if left == "0" or headers.get(name.replace("reset", "status")) == "rejected":
            yield value


def _moment_s(value: str, now: datetime) -> float | None:
    """A reset as a duration (`6m0s`), seconds, a moment of the epoch in seconds or milliseconds, or a date."""
    readings: tuple[Callable[[str], float | None], ...] = (
        lambda text: _from_number(float(text), now),
        _duration_s,
        lambda text: (datetime.fromisoformat(text) - now).total_seconds(),
    )
    for read in readings:
        try:
            seconds = read(value.strip())
        except (ValueError, TypeError, OverflowError):  # TypeError: a date without a zone
            continue
        if seconds is not None:
            return _usable(seconds)
    return None


def _from_number(number: float, now: datetime) -> float:
    if number > EPOCH_S * 1000:
        number /= 1000
    return number - now.timestamp() if number > EPOCH_S else number


def _duration_s(text: str) -> float | None:
    parts = DURATION.findall(text)
    if not parts or DURATION.sub("", text).strip():
        return None
    return sum(float(number) * UNITS_S[unit] for number, unit in parts)


def _seconds_until_date(date: str, now: datetime) -> float | None:
    from email.utils import parsedate_to_datetime  # ruff: ignore[import-outside-top-level] - slow to load, rarely needed

    try:
        return (parsedate_to_datetime(date) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):  # TypeError: a date without a zone
        return None


def _usable(seconds: float | None) -> float | None:
    # NaN compares false: it is no time either.
    return min(seconds, LONGEST_RETRY_AFTER_S) if seconds is not None and 0 < seconds < float("inf") else None

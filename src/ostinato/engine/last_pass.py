"""When a conversation's model was last asked, whatever models and runs it has had: what a provider keeps in its cache does not outlive
a long pause.

A clock that was set back since makes a pause unknown, never a long one.
"""

from datetime import datetime

from ostinato.ports import Clock


class LastPass:
    """Of one conversation. `at`: when the last reply of an earlier run ended; None: there was none, or nobody knows."""

    def __init__(self, at: datetime | None = None) -> None:
        self._at = at

    def idle_s(self, now: datetime) -> float | None:
        """Seconds since then, None where nobody knows. From here on the pause begins `now`."""
        before, self._at = self._at, now
        return None if before is None else _passed_s(before, now)


def monotonic_s_of(moment: datetime | None, clock: Clock) -> float | None:
    """The moment in seconds of the clock that never goes back, where it may lie before zero; None where nobody knows."""
    passed_s = None if moment is None else _passed_s(moment, clock.now())
    return None if passed_s is None else clock.monotonic_s() - passed_s


def _passed_s(before: datetime, now: datetime) -> float | None:
    passed_s = (now - before).total_seconds()
    return passed_s if passed_s >= 0 else None

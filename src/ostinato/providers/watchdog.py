"""The watchdog of one reply: counts the time spent waiting for the server, and says when it was too much and of what.

It sleeps no sleep of its own: whoever waits asks it how long, and tells it how long that was. So it needs no clock here.
"""

from typing import Literal

from ostinato.errors import ModelError
from ostinato.providers.deadlines import Deadlines

Limit = Literal["first_byte", "idle", "total", "whole_reply"]

ADVICE = "if this model needs longer, raise the limit with `OSTINATO_{}_TIMEOUT_S`"


class Watchdog:
    """`waited` and `came` are told what happens; `left_s` is how long may still be waited.

    `is_fresh`: an event has just come and the whole is far from its limit, so that only the idle limit can be hit before the
    next one. Then whoever watches the connection's silence watches enough.
    """

    def __init__(self, deadlines: Deadlines, *, is_streamed: bool) -> None:
        self.is_streamed = is_streamed
        self.is_fresh = False
        self._deadlines = deadlines
        self._has_begun = False
        self._quiet_s = 0.0
        self._total_s = 0.0
        self._calm_until_s = deadlines.total_s - deadlines.idle_s

    def is_whole(self) -> None:
        """The reply turned out to come in one piece: silence until its end is then no stall."""
        self.is_streamed = False

    def waited(self, seconds: float) -> None:
        """That long nothing came from the server, or only what does not count."""
        self._quiet_s += seconds
        self._total_s += seconds
        self.is_fresh = False

    def came(self, after_s: float) -> None:
        """An event came after so long a wait: a ping is one, a comment is none."""
        self._has_begun = True
        self._quiet_s = 0.0
        self._total_s += after_s
        self.is_fresh = self.is_streamed and self._total_s <= self._calm_until_s

    @property
    def left_s(self) -> float:
        """Never below zero."""
        return max(0.0, min(limit_s - spent_s for _, limit_s, spent_s in self._limits()))

    def error(self, url: str) -> ModelError:
        """What to raise when the time is up: it names the limit that was hit."""
        name, limit_s, _ = min(self._limits(), key=lambda limit: limit[1] - limit[2])
        return overdue(name, limit_s, url)

    def _limits(self) -> tuple[tuple[Limit, float, float], ...]:
        """Each limit that holds now, with what is used of it."""
        limits = self._deadlines
        if not self.is_streamed:
            return (("whole_reply", limits.whole_reply_s, self._total_s),)
        total: tuple[Limit, float, float] = ("total", limits.total_s, self._total_s)
        if not self._has_begun:
            return (("first_byte", limits.first_byte_s, self._quiet_s), total)
        return (("idle", limits.idle_s, self._quiet_s), total)


def overdue(limit: Limit, limit_s: float, url: str) -> ModelError:
    """The error for a limit of `limit_s` seconds that was hit."""
    what = {
        "first_byte": f"no answer from `{url}` within {limit_s:g} s",
        "idle": f"`{url}` went quiet in the middle of its reply: nothing came for {limit_s:g} s",
        "total": f"the reply of `{url}` took longer than {limit_s:g} s",
        "whole_reply": f"no complete reply from `{url}` within {limit_s:g} s",
    }[limit]
    kind = "stalled" if limit == "idle" else "timeout"
    return ModelError(what, kind=kind, retry=True, hint=ADVICE.format(limit.upper()))

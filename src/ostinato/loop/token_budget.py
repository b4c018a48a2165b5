"""The token target of a prompt (`+500k`): whether a model that stops early is sent on, and when more of it is not worth it.

A target is a floor to work toward, never a licence: it ends no query early, and it is no limit on money.
"""

import msgspec
from msgspec.structs import replace

from ostinato.state import TokenTarget

ENOUGH = 0.9
"""From this part of the target on, a model that stops is done (semantics §28.1)."""

MAX_NUDGES = 20

DIMINISHING_AFTER = 3
DIMINISHING_TOKENS = 500
"""After so many nudges, two gains in a row below this say that nothing more will come of it."""

NUDGE = (
    "You have used {used:,} of the {target:,} output tokens that the user wants spent on this task ({percent} %). Keep working: "
    "find what can still be done better, checked or finished. Do not sum up what was done."
)


class KeepWorking(msgspec.Struct, frozen=True):
    """Send the model on with `nudge`; `target` is what the next decision needs."""

    target: TokenTarget
    nudge: str


class Enough(msgspec.Struct, frozen=True):
    """The query may end. `is_told`: the target did something, or gave up; then the user is told these numbers."""

    nudges: int
    percent: int
    turn_tokens: int
    target_tokens: int
    diminishing_returns: bool
    duration_ms: int

    @property
    def is_told(self) -> bool:
        return self.nudges > 0 or self.diminishing_returns

    @property
    def text(self) -> str:
        seconds = self.duration_ms / 1000
        why = "; the last rounds brought little more" if self.diminishing_returns else ""
        return (
            f"Token target: {self.turn_tokens:,} of {self.target_tokens:,} output tokens ({self.percent} %) "
            f"after {self.nudges} nudges in {seconds:.0f} s{why}."
        )


def decide(target: TokenTarget, nudges: int, turn_tokens: int, now_s: float) -> KeepWorking | Enough:
    """`turn_tokens`: output tokens since the query began. `now_s` is the clock's monotonic time."""
    gained = turn_tokens - target.last_turn_tokens
    is_diminishing = (
        nudges >= DIMINISHING_AFTER
        and gained < DIMINISHING_TOKENS
        and target.last_gained_tokens < DIMINISHING_TOKENS
    )
    percent = turn_tokens * 100 // target.tokens
    if not is_diminishing and turn_tokens < ENOUGH * target.tokens and nudges < MAX_NUDGES:
        nudge = NUDGE.format(used=turn_tokens, target=target.tokens, percent=percent)
        return KeepWorking(replace(target, last_gained_tokens=gained, last_turn_tokens=turn_tokens), nudge)
    duration_ms = int((now_s - target.started_s) * 1000)
    return Enough(nudges, percent, turn_tokens, target.tokens, is_diminishing, duration_ms)

"""What a stage of the context pipeline is: it looks at the view and gives edits, never more tokens, never a broken pair."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from ostinato.history import History
from ostinato.ports import ModelFacts
from ostinato.records import AnyEdit


class PassFacts(msgspec.Struct, frozen=True):
    """What a stage knows of the pass it works for.

    `used_tokens`: what the request would have now, after the stages before this one. `idle_s`: since the last reply ended, None
    where nobody knows.
    """

    model: ModelFacts
    used_tokens: int
    idle_s: float | None = None


class Stage(Protocol):
    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        """The edits, usually none. Running it again on the view with its edits gives none."""
        ...

"""What a stage of the context pipeline is: it looks at the view and gives edits, never more tokens, never a broken pair."""

from collections.abc import Sequence
from typing import Protocol

from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.records import AnyEdit


class Stage(Protocol):
    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        """The edits, usually none. Running it again on the view with its edits gives none."""
        ...

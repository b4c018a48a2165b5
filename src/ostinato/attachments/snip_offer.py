"""Old rounds that may be hidden, named for the model as the window fills: once for each tenth of it, and only where it would pay."""

from collections.abc import Sequence
from typing import Final

from ostinato.attachments.quoted_text import quoted
from ostinato.attachments.told import told_keys
from ostinato.hideable_rounds import TOOL_NAME, HideableRounds
from ostinato.messages import Message, Reminder, attachment_message
from ostinato.ports import Ids

SOURCE: Final = "snip"
HEAD: Final = (
    f"Your window fills. {TOOL_NAME} hides old rounds that you need no more; nobody need be told. It pays if many go at once, which "
    "may be:"
)


class SnipOffer:
    """A collector."""

    def __init__(self, hideable: HideableRounds, ids: Ids) -> None:
        self._hideable = hideable
        self._ids = ids

    async def __call__(self, view: Sequence[Message]) -> Sequence[Message]:
        return self.at_once(view)

    def at_once(self, view: Sequence[Message]) -> Sequence[Message]:
        """One reminder, or nothing."""
        offer, self._hideable.offer = self._hideable.offer, None
        if offer is None or offer.key in told_keys(view, SOURCE):
            return ()
        lines = (f"- {one.name}: {quoted(one.what)} ({one.tokens:,} tokens)" for one in offer.rounds)
        text = "\n".join((HEAD, *lines))
        return (attachment_message(self._ids.uuid(), Reminder(SOURCE, text, offer.key)),)

"""The date, once it is no longer the one the model was told; what was said before stays as it is, so that it stays cached."""

from collections.abc import Sequence
from datetime import date
from typing import Final

from ostinato.attachments.told import last_told_key
from ostinato.messages import Message, Reminder, attachment_message
from ostinato.ports import Clock, Ids

SOURCE: Final = "date_change"


class DateChange:
    """A collector. `told` is the date in the user context."""

    def __init__(self, told: date, clock: Clock, ids: Ids) -> None:
        self._told = told.isoformat()
        self._clock = clock
        self._ids = ids
        self._is_only_context = False

    async def __call__(self, view: Sequence[Message]) -> Sequence[Message]:
        return self.at_once(view)

    def at_once(self, view: Sequence[Message]) -> Sequence[Message]:
        """One reminder when the date differs from the one said last, or nothing."""
        today = self._clock.now().date().isoformat()
        if self._is_only_context and today == self._told:
            return ()
        last = last_told_key(view, SOURCE)
        # Nobody else tells the date, so a view without such reminders gets none but from here: no need to look again.
        self._is_only_context = last is None and today == self._told
        if today == (last or self._told):
            return ()
        text = f"The date is now {today}. There is no need to mention this to the user."
        return (attachment_message(self._ids.uuid(), Reminder(SOURCE, text, today)),)

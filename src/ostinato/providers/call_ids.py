"""Ids of tool calls: a provider's own id is kept while it is legal and unique in the request; any other is replaced.

Two calls under one id, or an empty id, would make every later request illegal.
"""

import re
from collections.abc import Iterable

from ostinato.messages import ToolUse
from ostinato.ports import RequestMessage

LEGAL_ID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
ILLEGAL_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")


class CallIds:
    """Hands out the ids of one reply; none is given twice, and none that `messages` already hold."""

    def __init__(self, messages: Iterable[RequestMessage]) -> None:
        self._messages = messages
        self._taken: set[str] | None = None

    def take(self, proposed: str, *, response_id: str, index: int) -> str:
        """`proposed` if it may be used, else an id made from the response and the call's place in it."""
        # Only replies with calls pay for the look at the history.
        taken = self._taken if self._taken is not None else _call_ids(self._messages)
        self._taken = taken
        call_id = proposed
        if not LEGAL_ID.match(proposed) or proposed in taken:
            stem = f"call_{ILLEGAL_CHARACTERS.sub('', response_id)[-40:]}_{index}"
            call_id, attempt = stem, 0
            while call_id in taken:
                attempt += 1
                call_id = f"{stem}_{attempt}"
        taken.add(call_id)
        return call_id


def _call_ids(messages: Iterable[RequestMessage]) -> set[str]:
    return {block.id for message in messages for block in message.content if isinstance(block, ToolUse)}

"""Which uuids the messages of a conversation have: each message is looked at once, however often is asked."""

from ostinato.history import History
from ostinato.messages import Message


class UsedUuids:
    """Mutable on purpose, and held by one engine. It knows as many uuids as the view has messages."""

    def __init__(self) -> None:
        self._closed: list[Message] = []
        self._known: set[str] = set()
        self._length = 0

    def has(self, uuid: str, history: History) -> bool:
        """Whether a message of the view has it."""
        if history.closed is not self._closed or history.closed_length < self._length:
            self._closed, self._known, self._length = history.closed, set(), 0
        for place in range(self._length, history.closed_length):
            self._known.add(self._closed[place].uuid)
        self._length = history.closed_length
        return uuid in self._known or any(message.uuid == uuid for message in history.tail)

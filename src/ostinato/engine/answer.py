"""The answer of a query: the text of its last response that said something, with what was retracted taken out."""

from ostinato.events import AssistantEvent, Event, Tombstone
from ostinato.messages import AssistantMessage


class Answer:
    """Grows with the events of a query. The engine's own notes of failures are no part of it."""

    def __init__(self) -> None:
        self._said: dict[str, AssistantMessage] = {}
        self.notes: list[str] = []

    def take(self, event: Event) -> None:
        match event:
            case AssistantEvent(message) if message.is_error:
                self.notes.append(message.text)
            case AssistantEvent(message) if message.text:
                self._said[message.uuid] = message
            case Tombstone(uuid):
                self._said.pop(uuid, None)
            case _:
                pass

    @property
    def text(self) -> str:
        """Empty if nothing was said."""
        if not self._said:
            return ""
        last = next(reversed(self._said.values())).response_id
        return "".join(message.text for message in self._said.values() if message.response_id == last)

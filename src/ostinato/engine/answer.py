"""The answer of a query: the text of its last response that said something, with what was retracted taken out.

A response that goes on where a cut one broke off is the same answer.
"""

from ostinato.events import AssistantEvent, Event, Tombstone, Transition
from ostinato.messages import AssistantMessage

GONE_ON_WITH = frozenset({"max_output_tokens_recovery", "pause_turn_resume"})
"""The next response begins where the last one broke off."""


class Answer:
    """Grows with the events of a query. The engine's own notes of failures are no part of it."""

    def __init__(self) -> None:
        self._said: dict[str, AssistantMessage] = {}
        self._cut = ""
        self._is_cut_over = False
        self.notes: list[str] = []

    def take(self, event: Event) -> None:
        match event:
            case AssistantEvent(message) if message.is_error:
                self.notes.append(message.text)
            case AssistantEvent(message) if message.text:
                if self._is_cut_over:
                    self._cut, self._is_cut_over = "", False
                self._said[message.uuid] = message
            case Tombstone(uuid):
                self._said.pop(uuid, None)
            case Transition(transition) if transition.reason in GONE_ON_WITH:
                self._cut, self._said = self.text, {}
            case Transition(transition) if transition.reason == "next_turn":
                self._is_cut_over = True
            case _:
                pass

    @property
    def text(self) -> str:
        """Empty if nothing was said."""
        if not self._said:
            return self._cut
        last = next(reversed(self._said.values())).response_id
        return self._cut + "".join(
            message.text for message in self._said.values() if message.response_id == last
        )

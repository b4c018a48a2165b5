"""The answer of a query: the text of its last response that said something, with what was retracted taken out.

A response that goes on where a cut one broke off is the same answer.
"""

from ostinato.events import (
    AnyModelEvent,
    AssistantEvent,
    BlockStart,
    Event,
    MessageStart,
    RequestStart,
    ResponseUsage,
    StreamEvent,
    SystemEvent,
    TextDelta,
    Tombstone,
    Transition,
)
from ostinato.loop.attempt_notices import cause_of_wait
from ostinato.messages import AssistantMessage

GONE_ON_WITH = frozenset({"max_output_tokens_recovery", "pause_turn_resume"})
"""The next response begins where the last one broke off."""


BROKE_OFF = frozenset({"api_retry", "response_incomplete"})
"""After these nothing more comes of a text that was not complete."""


class Answer:
    """Grows with the events of a query. The engine's own notes of failures are no part of it.

    `trouble` is why the last model call is made again; empty once a reply is whole.
    """

    def __init__(self) -> None:
        self._said: dict[str, AssistantMessage] = {}
        self._cut = ""
        self._is_cut_over = False
        self.notes: list[str] = []
        self.trouble = ""
        self._response_id = ""
        self._open: list[str] = []

    def take(self, event: Event) -> None:
        match event:
            case StreamEvent(part):
                self.stream(part)
            case SystemEvent() | ResponseUsage() | RequestStart():
                self._call_goes_on(event)
            case AssistantEvent(message) if message.is_error:
                self.notes.append(message.text)
            case AssistantEvent(message) if message.text:
                if self._is_cut_over:
                    self._cut, self._is_cut_over = "", False
                self._said[message.uuid] = message
                self._open.clear()
            case Tombstone(uuid):
                self._said.pop(uuid, None)
                self._open.clear()
            case Transition(transition) if transition.reason in GONE_ON_WITH:
                self._cut, self._said = self.text, {}
            case Transition(transition) if transition.reason == "next_turn":
                self._is_cut_over = True
                self._forget_earlier()
            case _:
                pass

    def explained(self, error: str) -> str:
        """The error of an end that came while a model call was to be made again."""
        return f"{error}; the last call failed: {self.trouble}" if self.trouble else error

    @property
    def text(self) -> str:
        """Empty if nothing was said."""
        if not self._said:
            return self._cut
        return self._cut + self._of(next(reversed(self._said.values())).response_id)

    @property
    def text_so_far(self) -> str:
        """With the text that is still coming: all that there will be when a limit ends the query."""
        coming = "".join(self._open)
        return f"{self._cut}{self._of(self._response_id)}{coming}" if coming else self.text

    def _forget_earlier(self) -> None:
        """What was said before the last response that said something stays said, whatever comes: it can be no answer any more."""
        if len(self._said) > 1:
            last = next(reversed(self._said.values())).response_id
            self._said = {uuid: one for uuid, one in self._said.items() if one.response_id == last}

    def _of(self, response_id: str) -> str:
        return "".join(message.text for message in self._said.values() if message.response_id == response_id)

    def _call_goes_on(self, event: SystemEvent | ResponseUsage | RequestStart) -> None:
        match event:
            case SystemEvent(message):
                self.trouble = cause_of_wait(message) or self.trouble
                if message.subtype in BROKE_OFF:
                    self._open.clear()
            case RequestStart():
                self._open.clear()
            case ResponseUsage():
                self.trouble = ""

    def stream(self, part: AnyModelEvent) -> None:
        """What a `StreamEvent` holds; `take` comes here too."""
        if type(part) is TextDelta:
            self._open.append(part.text)
        elif type(part) is MessageStart:
            self._response_id = part.response_id
            self._open.clear()
        elif type(part) is BlockStart:
            self._open.clear()

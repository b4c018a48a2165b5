"""Which result was already said, word for word: an index over the settled part of the view that grows with it."""

from ostinato.context.exchanges import Exchange, exchanges
from ostinato.history import History
from ostinato.messages import AssistantMessage, Message, ToolUse


class Repeats:
    """Looks at each settled message once, and at all of them again only after an edit."""

    def __init__(self) -> None:
        self._closed: list[Message] | None = None
        self._length = 0
        self._calls: dict[str, ToolUse] = {}
        self._by_size: dict[int, list[Exchange]] = {}

    def first_like(self, one: Exchange, messages: History) -> Exchange | None:
        """The first settled exchange with the same result; None if that is `one` itself, or there is none."""
        self._grow(messages)
        text = one.text
        same = next((other for other in self._by_size.get(len(text or ""), ()) if other.text == text), None)
        return None if same is None or same.call.id == one.call.id else same

    def _grow(self, messages: History) -> None:
        if messages.closed is not self._closed or messages.closed_length < self._length:
            self._closed, self._length = messages.closed, 0
            self._calls, self._by_size = {}, {}
        new = messages.closed[self._length : messages.closed_length]
        self._length = messages.closed_length
        for message in new:
            if isinstance(message, AssistantMessage):
                self._calls.update((call.id, call) for call in message.tool_uses)
        for other in exchanges(new, self._calls):
            if other.text is not None and not other.result.is_error:
                self._by_size.setdefault(len(other.text), []).append(other)

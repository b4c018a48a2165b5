"""The history of a conversation: append what was said, get back what may be sent."""

import uuid
from collections.abc import Iterable, Sequence

from ostinato.history import History
from ostinato.messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    Text,
    ToolResult,
    UserMessage,
    tool_result_message,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import ModelFacts, RequestMessage


class ConversationManager:
    """Holds the messages; nobody else does."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._history = History.empty().extend(messages)

    def add_user(self, text: str) -> None:
        self._add(UserMessage(str(uuid.uuid4()), (Text(text),)))

    def add_assistant(self, model: str, blocks: Sequence[AssistantBlock]) -> None:
        key = str(uuid.uuid4())
        self._add(AssistantMessage(key, key, model, tuple(blocks), (key,) * len(blocks)))

    def add_tool_results(self, results: Iterable[ToolResult]) -> None:
        """The answers to the calls of the last reply; together they are one user message."""
        for result in results:
            self._add(tool_result_message(str(uuid.uuid4()), result))

    @property
    def messages(self) -> list[Message]:
        return self._history.view()

    def api_messages(self, facts: ModelFacts) -> list[RequestMessage]:
        """The conversation as this model may get it: legal, whatever happened before."""
        return Normaliser(facts).request_messages(self._history)

    def _add(self, message: Message) -> None:
        self._history = self._history.append(message)

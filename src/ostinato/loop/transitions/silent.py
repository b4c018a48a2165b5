"""A query whose model never said a word ends as failed: nothing is no answer, whichever way it came."""

from collections.abc import Sequence

from ostinato.loop.deps import Deps
from ostinato.loop.transitions.step import End, Why
from ostinato.messages import (
    AssistantMessage,
    AttachmentMessage,
    Message,
    QueuedCommand,
    UserMessage,
    api_error_message,
)
from ostinato.state import State

SENT_ON_BY: frozenset[str] = frozenset({"recovery", "hook"})
"""Messages that only send the model on: what it said before them is still what it said to the user."""


def silent(state: State, deps: Deps, text: str, hint: str) -> End:
    note = api_error_message(deps.ids.uuid(), state.tool_use_context.model.id, text)
    return End("model_error", (note,), Why(text, hint, "empty_response"))


def has_spoken(messages: Sequence[Message]) -> bool:
    """Whether the model has said a word since the user did, or since its last tools."""
    for message in reversed(messages):
        match message:
            case AssistantMessage() if message.text.strip() and not message.is_error:
                return True
            case UserMessage() if message.origin not in SENT_ON_BY:
                return False
            case AttachmentMessage(attachment=QueuedCommand()):
                return False
            case _:
                continue
    return False

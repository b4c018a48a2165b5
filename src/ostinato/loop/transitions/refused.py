"""The model refused, or its provider stopped it: the query ends, what was shown stays on the screen and in the session, and the
model does not read it again. A refused reply in the history makes the next refusal likely (providers say to leave it out).
"""

from ostinato.loop.deps import Deps
from ostinato.loop.transitions.step import End, Step, Why
from ostinato.messages import (
    AssistantMessage,
    ServerBlock,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
    api_error_message,
)
from ostinato.records import Record, Retract, ToolStarted
from ostinato.state import Refused, State

REFUSED = "The model refused to answer."
ALREADY_BEGUN = " What was done by then stays done, by: {calls}."
REFUSED_HINT = "say it another way, take the last message back, or choose another model"


def refused(state: State, outcome: Refused, deps: Deps) -> Step:
    """A call that had begun to change something stays in the history with its result: the model must know of it, and so must the
    user, who reads that the reply was refused.
    """
    error = outcome.error
    text = (REFUSED if error is None else error.message) + _already_begun(outcome.records)
    note = api_error_message(deps.ids.uuid(), state.tool_use_context.model.id, text)
    hidden = _hidden(outcome.records)
    edits = (Retract(deps.ids.uuid(), hidden),) if hidden else ()
    hint, status = (REFUSED_HINT, None) if error is None else (error.hint or REFUSED_HINT, error.status)
    return End("refused", (note,), Why(text, hint, "refused", status), quiet_edits=edits)


def _already_begun(records: tuple[Record, ...]) -> str:
    begun = [one.name for one in records if isinstance(one, ToolStarted) and not one.is_read_only]
    calls = ", ".join(f"`{name}`" for name in dict.fromkeys(begun))
    return ALREADY_BEGUN.format(calls=calls) if begun else ""


def _hidden(records: tuple[Record, ...]) -> tuple[str, ...]:
    """The fragments and results of the reply that the model shall not read."""
    begun = {one.tool_use_id for one in records if isinstance(one, ToolStarted) and not one.is_read_only}
    return tuple(
        one.uuid
        for one in records
        if isinstance(one, AssistantMessage | UserMessage) and not _stays(one, begun)
    )


def _stays(message: AssistantMessage | UserMessage, begun: set[str]) -> bool:
    if isinstance(message, AssistantMessage):
        return bool(begun) and not any(
            isinstance(block, Text | ServerBlock) or (isinstance(block, ToolUse) and block.id not in begun)
            for block in message.content
        )
    return any(isinstance(block, ToolResult) and block.tool_use_id in begun for block in message.content)

"""Ends that nothing can repair any more: the error is released exactly once, as a message and in the Terminal."""

from ostinato.errors import ModelError
from ostinato.events import TerminalReason
from ostinato.loop.deps import Deps
from ostinato.loop.transitions.step import End, Step, why
from ostinato.messages import api_error_message
from ostinato.state import Failed, State


def failed(state: State, outcome: Failed, deps: Deps) -> Step:
    return released("model_error", state, outcome.error, deps)


def released(reason: TerminalReason, state: State, error: ModelError | None, deps: Deps) -> End:
    """Nothing more can be tried: the error is shown and ends the query."""
    text = str(error) if error else "the model call failed"
    note = api_error_message(deps.ids.uuid(), state.tool_use_context.model.id, text)
    return End(reason, (note,), why(error))

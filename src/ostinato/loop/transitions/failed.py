"""Ends that nothing can repair any more: the error is released exactly once, as a message and in the Terminal."""

from ostinato.errors import ModelError
from ostinato.events import TerminalReason
from ostinato.loop.deps import Deps
from ostinato.loop.transitions.step import End, Step, why
from ostinato.messages import api_error_message
from ostinato.state import Failed, MediaRejected, Overflowed, State

REFUSED = "The model refused to answer."


def failed(state: State, outcome: Failed, deps: Deps) -> Step:
    return _released("model_error", state, outcome.error, deps)


def overflowed(state: State, outcome: Overflowed, deps: Deps) -> Step:
    return _released("prompt_too_long", state, outcome.error, deps)


def media_rejected(state: State, outcome: MediaRejected, deps: Deps) -> Step:
    return _released("image_error", state, outcome.error, deps)


def refused(state: State, deps: Deps) -> Step:
    note = api_error_message(deps.ids.uuid(), state.tool_use_context.model.id, REFUSED)
    return End("refused", (note,))


def _released(reason: TerminalReason, state: State, error: ModelError | None, deps: Deps) -> Step:
    text = str(error) if error else "the model call failed"
    note = api_error_message(deps.ids.uuid(), state.tool_use_context.model.id, text)
    return End(reason, (note,), why(error))

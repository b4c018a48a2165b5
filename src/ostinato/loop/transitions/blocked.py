"""The hard limit is reached and nothing may shorten the conversation: the query ends before the call, and says what can be done."""

from ostinato.loop.deps import Deps
from ostinato.loop.transitions.step import End, Why
from ostinato.messages import api_error_message
from ostinato.state import Blocked, State

BLOCKED = (
    "The conversation is about {tokens:,} tokens long; with automatic compaction switched off, calls are made up to "
    "{limit:,} of the model's {window:,}."
)
BLOCKED_HINT = "start a new conversation (`/clear`), choose a model with a larger window, or switch automatic compaction on"


def blocked(state: State, outcome: Blocked, deps: Deps) -> End:
    model = state.tool_use_context.model
    text = BLOCKED.format(tokens=outcome.tokens, limit=outcome.limit_tokens, window=model.context_window)
    note = api_error_message(deps.ids.uuid(), model.id, text)
    return End("blocking_limit", (note,), Why(text, BLOCKED_HINT, "prompt_too_long"))

"""Where nothing shortens the conversation by itself, a call that would hardly fit is not made: its error would cost money and tell
less, and there is still room for a last command.
"""

from ostinato.loop.deps import Deps
from ostinato.loop.request import RequestBuilder
from ostinato.state import Blocked, QueryConfig, State
from ostinato.window_limits import hard_limit_tokens


def at_hard_limit(state: State, config: QueryConfig, deps: Deps, requests: RequestBuilder) -> Blocked | None:
    """None if the call may be made: always while compaction or a collapse owns what does not fit, and inside a compaction."""
    context = state.tool_use_context
    has_a_way_out = config.auto_compact or deps.drain_collapsed is not None
    if has_a_way_out or context.source.name == "compact" or context.abort.reason is not None:
        return None
    tokens = requests.tokens(state)
    limit = hard_limit_tokens(context.model)
    return Blocked(tokens=tokens, limit_tokens=limit) if tokens >= limit else None

"""A tool hook wants no further call: the query ends after its tools, every call answered, as a success."""

from ostinato.loop.deps import Deps
from ostinato.loop.transitions.step import End
from ostinato.messages import notice_message
from ostinato.state import HookStopped


def hook_stopped(outcome: HookStopped, deps: Deps) -> End:
    """What the hooks said to the model stays: the next prompt goes on from there."""
    text = (
        f"A tool hook ended the query: {outcome.message}"
        if outcome.message
        else "A tool hook ended the query."
    )
    notice = notice_message(deps.ids.uuid(), "hook_stopped", text, level="warning")
    return End("hook_stopped", (*outcome.added, notice))

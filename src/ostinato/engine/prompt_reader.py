"""The door before the model: what is typed is read here first, and may be answered, replaced or passed on."""

from typing import Protocol

from ostinato.engine.slash.reply import NotACommand, SlashOutcome
from ostinato.ports import Abort


class PromptReader(Protocol):
    async def __call__(self, prompt: str, abort: Abort, /) -> SlashOutcome:
        """`SlashReply`: answered here, no model is called. `Expanded`: this goes to the model in its place. `NotACommand`: it goes as
        it is. Is cancelled on abort; raises OstinatoError for what cannot be done.
        """
        ...


async def pass_on(prompt: str, abort: Abort, /) -> SlashOutcome:
    """Every prompt goes to the model as it is."""
    del prompt, abort
    return NotACommand()

"""Commands that the program answers itself need no model: where none can be reached, they are answered all the same."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from msgspec.structs import replace

from ostinato.engine.assemble import start_engine
from ostinato.engine.options import Options
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.slash.builtin import builtin_named
from ostinato.engine.slash.command_line import read_command_line
from ostinato.errors import ConfigurationError, LocalModelError, ModelError
from ostinato.ports import AnyModelEvent, ModelFacts, ModelRequest, Prices

NO_MODEL: Final = ModelFacts("none", "none", context_window=1, max_output_tokens=1, prices=Prices(0, 0))
"""Costs nothing, so that a limit in dollars is no reason to refuse."""


class NoModel:
    """Implements `Model` where there is none; a call says why."""

    def __init__(self, reason: ConfigurationError | LocalModelError) -> None:
        self.facts = NO_MODEL
        self._reason = reason

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[AnyModelEvent]]]:
        del request
        raise ModelError(self._reason.message, kind="not_found", hint=self._reason.hint) from self._reason


async def start_engine_for(prompt: str, options: Options) -> QueryEngine:
    """An engine that is going to be asked `prompt` and nothing else. Raises what `start_engine` raises, but a model that cannot be
    reached only where the prompt is for one.
    """
    try:
        return await start_engine(options)
    except (ConfigurationError, LocalModelError) as error:
        if not _needs_no_model(prompt):
            raise
        return await start_engine(replace(options, model=NoModel(error)))


def _needs_no_model(prompt: str) -> bool:
    line = read_command_line(prompt)
    return line is not None and builtin_named(line.name) is not None

"""What stands in for a model that cannot be opened, so that commands which need none are answered: it knows why."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from msgspec.structs import replace

from ostinato.errors import ConfigurationError, LocalModelError, ModelError
from ostinato.ports import AnyModelEvent, Model, ModelFacts, ModelRequest, Prices

NO_MODEL: Final = ModelFacts("none", "none", context_window=1, max_output_tokens=1, prices=Prices(0, 0))
"""Costs nothing, so that a limit in dollars is no reason to refuse."""


class NoModel:
    """Implements `Model` where there is none; a call says why. `name` is what was asked for, if anything was."""

    def __init__(self, reason: ConfigurationError | LocalModelError, name: str | None = None) -> None:
        self.facts = replace(NO_MODEL, id=name) if name else NO_MODEL
        self.reason = reason

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[AnyModelEvent]]]:
        del request
        raise ModelError(self.reason.message, kind="not_found", hint=self.reason.hint) from self.reason


def problem_of(model: Model) -> ConfigurationError | LocalModelError | None:
    """Why the model cannot be asked; None when it can."""
    return model.reason if isinstance(model, NoModel) else None

"""What refusals taught of the models' windows. What was learned once is not paid for again, and never grows back."""

from collections.abc import Callable

from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.model_window import learned_window
from ostinato.ports import ModelFacts


class LearnedWindows:
    """Windows that turned out smaller than was believed. One for all queries of an engine and what they start."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], int] = {}

    def learn(self, error: ModelError, facts: ModelFacts, sent_tokens: Callable[[], int]) -> None:
        """`facts` are those of the model that failed; `sent_tokens` estimates the prompt, where the refusal does not say."""
        if error.kind not in {"prompt_too_long", "output_overflow"}:
            return
        is_sized = bool(error.limit_tokens or error.input_tokens)
        window = learned_window(error, self.believed(facts), sent_tokens=None if is_sized else sent_tokens())
        if window is not None:
            self._tokens[facts.provider, facts.id] = window

    def believed(self, facts: ModelFacts) -> ModelFacts:
        """The facts with the window to believe in; the same object where nothing smaller is known."""
        window = self._tokens.get((facts.provider, facts.id), facts.context_window)
        return replace(facts, context_window=window) if window < facts.context_window else facts

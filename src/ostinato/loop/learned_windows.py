"""What refusals taught of the models' windows and of how much they may say. What was learned once is not paid for again, and
never grows back.
"""

from collections.abc import Callable

from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.model_window import learned_window
from ostinato.ports import ModelFacts


class LearnedWindows:
    """Windows and output limits that turned out smaller than was believed. One for all queries of an engine and what they start."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], int] = {}
        self._output_tokens: dict[tuple[str, str], int] = {}

    def learn(self, error: ModelError, facts: ModelFacts, sent_tokens: Callable[[], int]) -> None:
        """`facts` are those of the model that failed; `sent_tokens` estimates the prompt, where the refusal does not say."""
        if error.kind not in {"prompt_too_long", "output_overflow"}:
            return
        self._learn_output(error, facts)
        is_sized = bool(error.limit_tokens or error.input_tokens)
        window = learned_window(error, self.believed(facts), sent_tokens=None if is_sized else sent_tokens())
        if window is not None:
            self._tokens[facts.provider, facts.id] = window

    def _learn_output(self, error: ModelError, facts: ModelFacts) -> None:
        limit = error.output_limit_tokens
        if limit is not None and 0 < limit < self.believed(facts).max_output_tokens:
            self._output_tokens[facts.provider, facts.id] = limit

    def believed(self, facts: ModelFacts) -> ModelFacts:
        """The facts with the window and the output limit to believe in; the same object where nothing smaller is known."""
        key = (facts.provider, facts.id)
        window = min(self._tokens.get(key, facts.context_window), facts.context_window)
        output = min(self._output_tokens.get(key, facts.max_output_tokens), facts.max_output_tokens)
        if (window, output) == (facts.context_window, facts.max_output_tokens):
            return facts
        return replace(facts, context_window=window, max_output_tokens=output)

"""What failed calls and replies teach of a model's window: it may be smaller than was believed. Numbers are tokens."""

from ostinato.errors import ModelError
from ostinato.messages import Usage
from ostinato.ports import ModelFacts

FAILED_SHARE = 0.85
"""Of a size that failed without any number being named: what may be believed of the window afterwards."""

MIN_WINDOW_TOKENS = 1_000
"""No model in use has less: a smaller number in a refusal is a slip, and believing it would shorten every conversation to nothing."""


def overflowed_silently(usage: Usage, facts: ModelFacts) -> bool:
    """Whether a reply came although its prompt was longer than the window: some servers cut the prompt and say nothing."""
    return prompt_tokens(usage) > facts.context_window


def prompt_tokens(usage: Usage) -> int:
    """How long the prompt was, cached parts included."""
    return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens


def learned_window(error: ModelError, facts: ModelFacts, *, sent_tokens: int | None = None) -> int | None:
    """The window to believe in after `error`, if it is smaller than the one that was believed; None if nothing was learned.

    The server's own number counts; without one, a share of the size that failed: its `input_tokens`, else `sent_tokens`,
    the caller's estimate.
    """
    if error.kind not in {"prompt_too_long", "output_overflow"}:
        return None
    named = error.limit_tokens
    window = named if named is None or named >= MIN_WINDOW_TOKENS else None
    failed = error.input_tokens or sent_tokens
    if window is None and error.kind == "prompt_too_long" and failed:
        window = int(failed * FAILED_SHARE)
    return window if window is not None and 0 < window < facts.context_window else None

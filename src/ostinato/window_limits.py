"""How the window of a model is divided: what is kept free for its reply, and where no further call is made. Numbers are tokens.

The shares scale with the window, so that the same rules hold from 4 thousand to 2 million tokens.
"""

from ostinato.ports import ModelFacts

MAX_RESERVED_TOKENS = 20_000
"""Longer than nearly every summary that was seen (semantics §24.1): there is always room for one."""

RESERVED_SHARE = 0.2
MAX_MARGIN_TOKENS = 3_000
"""Left for a last command, and for what an estimate misses (semantics §25.3)."""

MARGIN_SHARE = 0.02


def reserved_output_tokens(facts: ModelFacts) -> int:
    """What a reply may need."""
    shared = int(RESERVED_SHARE * facts.context_window)
    return min(facts.max_output_tokens, MAX_RESERVED_TOKENS, shared)


def hard_limit_tokens(facts: ModelFacts) -> int:
    """A prompt of this size or more is not sent where nothing shortens it."""
    margin = min(MAX_MARGIN_TOKENS, int(MARGIN_SHARE * facts.context_window))
    return facts.context_window - reserved_output_tokens(facts) - margin

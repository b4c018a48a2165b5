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


MAX_AUTO_MARGIN_TOKENS = 33_000
"""Between the window and the point of compaction: a summary's 20k and 13k for the pass that runs (semantics §24.1)."""

AUTO_MARGIN_SHARE = 0.35
MAX_WARNING_TOKENS = 20_000
WARNING_SHARE = 0.1
COLLAPSE_STAGING_SHARE = 0.8
COLLAPSE_COMMIT_SHARE = 0.95


def auto_compact_tokens(facts: ModelFacts) -> int:
    """From this size on, the conversation is summarised before the next call."""
    window = facts.context_window
    return window - min(MAX_AUTO_MARGIN_TOKENS, int(AUTO_MARGIN_SHARE * window))


def warning_tokens(facts: ModelFacts) -> int:
    """From this size on, the user is told that compaction is near."""
    return auto_compact_tokens(facts) - min(MAX_WARNING_TOKENS, int(WARNING_SHARE * facts.context_window))


def room_left_percent(facts: ModelFacts, context_tokens: int) -> int | None:
    """How much of what stands before compaction is left, rounded down; None below the size at which the user is told."""
    if context_tokens < warning_tokens(facts):
        return None
    limit = auto_compact_tokens(facts)
    return max(0, limit - context_tokens) * 100 // limit


def collapse_staging_tokens(facts: ModelFacts) -> int:
    """From this size on, finished spans get their summaries, not yet put in place."""
    return int(COLLAPSE_STAGING_SHARE * auto_compact_tokens(facts))


def collapse_commit_tokens(facts: ModelFacts) -> int:
    """From this size on, staged summaries are put in place."""
    return int(COLLAPSE_COMMIT_SHARE * auto_compact_tokens(facts))


def effective_window_tokens(facts: ModelFacts) -> int:
    """What a prompt may have beside its reply."""
    return facts.context_window - reserved_output_tokens(facts)

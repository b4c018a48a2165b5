"""When a failed model call is made again, how long before, and in which form. Pure: the numbers are those of semantics §13.1."""

from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.loop.budget import MIN_OUTPUT_TOKENS
from ostinato.ports import ModelRequest, QuerySource

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 32.0
JITTER = 0.25
"""Of the wait, on top of it, so that many clients do not come back at the same moment."""

LONGEST_WISH_S = 60.0
"""A server that wants a longer wait is taken at its word: the error is shown now."""

STREAM_FAILURES = frozenset({"stream_cut", "stalled", "malformed_response"})
WHOLE_AFTER = 2
"""So many replies in a row broke off: the next is asked for in one piece."""

MAX_WHOLE_OUTPUT_TOKENS = 64_000
"""A reply in one piece can be no longer (semantics §13.5)."""

MARGIN_TOKENS = 64
"""Left free where a refusal named the sizes: two counts of the same prompt differ by a few."""


def wait_before_retry_s(
    error: ModelError, failures: int, source: QuerySource, *, max_retries: int, jitter: float
) -> float | None:
    """Seconds to wait before the same request is sent again, or None if it is not. `failures` counts from 1, `jitter` is
    between 0 and 1. Nobody waits for background work, so it does not add to a provider's overload.
    """
    if not error.retry or failures > max_retries:
        return None
    if source.is_background and error.kind == "overloaded":
        return None
    wish_s = error.retry_after_s or 0.0
    if wish_s > LONGEST_WISH_S:
        return None
    wait_s = min(FIRST_WAIT_S * 2 ** min(failures - 1, 16), LONGEST_WAIT_S)
    return max(wait_s * (1 + JITTER * jitter), wish_s)


def in_one_piece(request: ModelRequest) -> ModelRequest:
    """The same request for a reply that does not stream."""
    allowed = min(request.max_output_tokens, MAX_WHOLE_OUTPUT_TOKENS)
    return replace(request, wants_stream=False, max_output_tokens=allowed)


def shortened(request: ModelRequest, error: ModelError) -> ModelRequest | None:
    """The request with an output that fits what the refusal says of sizes; None where it does not say, or where that leaves no
    useful answer.
    """
    if error.output_limit_tokens is not None:
        allowed = error.output_limit_tokens
    elif error.input_tokens is not None and error.limit_tokens is not None:
        allowed = error.limit_tokens - error.input_tokens - MARGIN_TOKENS
    else:
        return None
    if allowed >= request.max_output_tokens or allowed < MIN_OUTPUT_TOKENS:
        return None
    return replace(request, max_output_tokens=allowed)

"""When a failed model call is made again, how long before, and in which form; and when another model takes over instead.

Pure: the numbers are those of semantics §13.1 and §13.2 where nothing else is said.
"""

from msgspec.structs import replace

from ostinato.errors import ModelError, ModelErrorKind
from ostinato.loop.budget import MIN_OUTPUT_TOKENS
from ostinato.ports import ModelRequest, QuerySource

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 32.0
JITTER = 0.25
"""Of the wait, on top of it, so that many clients do not come back at the same moment."""

LONGEST_WISH_S = 60.0
"""A server that wants a longer wait is taken at its word: another model takes over, or the error is shown now."""

UNATTENDED_LONGEST_WAIT_S = 300.0
UNATTENDED_LONGEST_WISH_S = 6 * 3600.0
UNATTENDED_RETRIES = 300
"""Of failures other than those that pass with time alone; those are waited out without a limit."""

HEARTBEAT_S = 30.0
"""A long wait is cut into pieces of this length; after each the host hears that the query lives."""

WAITED_OUT = frozenset[ModelErrorKind]({"overloaded", "rate_limit"})
"""What only time can cure, and time does."""

STREAM_FAILURES = frozenset[ModelErrorKind]({"stream_cut", "stalled", "malformed_response"})
WHOLE_AFTER = 3
"""So many replies in a row broke off: the next is asked for in one piece."""

MAX_WHOLE_OUTPUT_TOKENS = 64_000
"""A reply in one piece can be no longer (semantics §13.5)."""

MARGIN_TOKENS = 64
"""Left free where a refusal named the sizes: two counts of the same prompt differ by a few."""

MALFORMED_RETRIES = 2
"""A reply garbled on its way comes whole soon, or the address leads to something else."""

MAX_CHANGED_REQUESTS = 10
"""More than there are parameters that an adapter can do without, each given up once. They cost no retry and no wait."""

OVERLOADS_BEFORE_FALLBACK = 3
"""In a row; where another model stands ready, nobody waits any longer for an overloaded one (semantics §12)."""

GIVES_OUT = frozenset[ModelErrorKind]({
    "overloaded",
    "rate_limit",
    "server",
    "timeout",
    "stalled",
    "stream_cut",
    "malformed_response",
})
"""Failures of a model, or of what serves it, that another may not have. Not among them: keys, bills, the request itself, and a
network that does not lead to the server at all.
"""


def wait_before_retry_s(
    error: ModelError,
    failures: int,
    source: QuerySource,
    *,
    max_retries: int,
    jitter: float,
    is_unattended: bool = False,
) -> float | None:
    """Seconds to wait before the same request is sent again, or None if it is not. `failures` counts from 1, `jitter` is
    between 0 and 1. Nobody waits for background work, so it does not add to a provider's overload. `is_unattended`: there is
    nobody to whom an error could be shown, so what passes with time is waited out.
    """
    if (
        not error.retry
        or error.recover == "send_changed"
        or (source.is_background and error.kind == "overloaded")
    ):
        return None
    if is_unattended:
        return _unattended_wait_s(error, failures, jitter)
    wish_s = error.retry_after_s or 0.0
    if failures > max_retries or wish_s > LONGEST_WISH_S:
        return None
    return max(_backoff_s(failures, LONGEST_WAIT_S, jitter), wish_s)


def _unattended_wait_s(error: ModelError, failures: int, jitter: float) -> float | None:
    if failures > UNATTENDED_RETRIES and error.kind not in WAITED_OUT:
        return None
    wish_s = min(error.retry_after_s or 0.0, UNATTENDED_LONGEST_WISH_S)
    return max(_backoff_s(failures, UNATTENDED_LONGEST_WAIT_S, jitter), wish_s)


def _backoff_s(failures: int, longest_s: float, jitter: float) -> float:
    wait_s = min(FIRST_WAIT_S * 2 ** min(failures - 1, 16), longest_s)
    return wait_s * (1 + JITTER * jitter)


def has_given_out(error: ModelError, *, overloads: int, wait_s: float | None) -> bool:
    """Whether another model should take over, if there is one. `overloads` in a row, this one counted; `wait_s` is what
    `wait_before_retry_s` says for it.
    """
    if error.recover == "fallback_model" and not error.retry:
        return True
    if error.kind not in GIVES_OUT:
        return False
    is_long_wish = (error.retry_after_s or 0.0) > LONGEST_WISH_S
    return wait_s is None or is_long_wish or overloads >= OVERLOADS_BEFORE_FALLBACK


def pieces_of(wait_s: float) -> tuple[float, ...]:
    """The wait in pieces of `HEARTBEAT_S`, the rest last."""
    whole, rest_s = divmod(wait_s, HEARTBEAT_S)
    return (HEARTBEAT_S,) * int(whole) + ((rest_s,) if rest_s else ())


def in_one_piece(request: ModelRequest) -> ModelRequest:
    """The same request for a reply that does not stream."""
    allowed = min(request.max_output_tokens, MAX_WHOLE_OUTPUT_TOKENS)
    return replace(request, wants_stream=False, max_output_tokens=allowed)


def fitting(request: ModelRequest, input_tokens: int, window_tokens: int) -> ModelRequest:
    """The request with an output that the window has room for, as far as is known. One that does not seem to fit at all is left
    as it is: its provider counts better, and names the sizes.
    """
    room = window_tokens - input_tokens
    if room <= 0 or room >= request.max_output_tokens:
        return request
    allowed = max(room - MARGIN_TOKENS, MIN_OUTPUT_TOKENS)
    return replace(request, max_output_tokens=min(allowed, request.max_output_tokens))


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

"""What failed in one turn so far, and what to try next: again, after another key, with another model, or nothing more."""

from functools import partial

import msgspec

from ostinato.errors import ModelError
from ostinato.loop.deps import Deps
from ostinato.loop.fallback import Choice, next_model
from ostinato.loop.retry_policy import (
    LONGEST_WISH_S,
    MALFORMED_RETRIES,
    MAX_CHANGED_REQUESTS,
    STREAM_FAILURES,
    WHOLE_AFTER,
    has_given_out,
    in_one_piece,
    shortened,
    wait_before_retry_s,
)
from ostinato.normalise.token_estimate import request_tokens
from ostinato.ports import ModelRequest
from ostinato.state import QueryConfig, State


class Again(msgspec.Struct, frozen=True):
    """Send `request` after `wait_s` seconds; it is try number `attempt`, counted from 1."""

    request: ModelRequest
    wait_s: float = 0.0
    attempt: int = 1


class WithNewKey(msgspec.Struct, frozen=True):
    """Get another key, and send the same request with it."""


class WithOtherModel(msgspec.Struct, frozen=True):
    """The model `index` of the chain takes over; `skipped` says why others do not."""

    index: int
    skipped: tuple[str, ...] = ()


class GiveUp(msgspec.Struct, frozen=True):
    """Nothing more may be tried. `skipped` says why no other model took over, where one should have."""

    skipped: tuple[str, ...] = ()


NextTry = Again | WithNewKey | WithOtherModel | GiveUp


class Failures:
    """Counts for one turn. Another model starts with a clean sheet."""

    def __init__(self, deps: Deps, config: QueryConfig) -> None:
        self._deps = deps
        self._config = config
        self.forget()

    def forget(self) -> None:
        """Another model is asked from here on."""
        self._failures = 0
        self._cuts = 0
        self._overloads = 0
        self._malformed = 0
        self._changes = 0
        self._has_new_key = False
        self._has_shortened = False

    def next_try(self, request: ModelRequest, state: State, error: ModelError) -> NextTry:
        """What to do after `error`, which `request` met; each call counts as one failure."""
        model, sent_tokens = state.tool_use_context.model, partial(request_tokens, request, state.messages)
        self._deps.fallbacks.windows.learn(error, model, sent_tokens)
        if error.recover == "send_changed" and self._changes < MAX_CHANGED_REQUESTS:
            self._changes += 1
            return Again(request, attempt=self._failures + 1)
        if error.recover == "shrink_output":
            return self._with_less_output(request, error)
        if error.recover == "refresh_auth" and self._may_ask_for_key(state):
            self._has_new_key = True
            return WithNewKey()
        self._failures += 1
        self._cuts = self._cuts + 1 if error.kind in STREAM_FAILURES else 0
        self._overloads = self._overloads + 1 if error.kind == "overloaded" else 0
        self._malformed += error.kind == "malformed_response"
        wait_s = self._wait_s(error, state)
        choice = Choice(None)
        if has_given_out(error, overloads=self._overloads, wait_s=wait_s):
            choice = self._other_model(request, state, error)
        if choice.index is not None:
            return WithOtherModel(choice.index, choice.skipped)
        if wait_s is None:
            return GiveUp(choice.skipped)
        form = in_one_piece(request) if self._cuts >= WHOLE_AFTER else request
        return Again(form, wait_s, self._failures + 1)

    def _may_ask_for_key(self, state: State) -> bool:
        """Once in a turn, of whoever knows one for this very model."""
        return self._deps.refresh_of(state.bounds.fallback_index) is not None and not self._has_new_key

    def _with_less_output(self, request: ModelRequest, error: ModelError) -> NextTry:
        smaller = None if self._has_shortened else shortened(request, error)
        self._has_shortened = True
        return GiveUp() if smaller is None else Again(smaller, attempt=self._failures + 1)

    def _wait_s(self, error: ModelError, state: State) -> float | None:
        if error.kind == "malformed_response" and self._malformed > MALFORMED_RETRIES:
            return None
        return wait_before_retry_s(
            error,
            self._failures,
            state.tool_use_context.source,
            max_retries=self._config.max_retries,
            jitter=self._deps.jitter(),
            is_unattended=self._config.is_unattended,
        )

    def _other_model(self, request: ModelRequest, state: State, error: ModelError) -> Choice:
        """Nobody waits for background work, so it takes no other model either. What the server asked for is kept."""
        context, chain, now_s = state.tool_use_context, self._deps.fallbacks, self._deps.clock.monotonic_s()
        wish_s = error.retry_after_s or 0.0
        if wish_s > LONGEST_WISH_S or (wish_s > 0 and self._overloads):
            chain.cool_downs.leave_alone(context.model, now_s + wish_s)
        return Choice(None) if context.source.is_background else next_model(chain, state, request, now_s)

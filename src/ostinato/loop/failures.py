"""What failed so far, in this turn and in replies before it that broke off and were kept; and what to try next: again, after
another key, with another model, or nothing more.
"""

from functools import partial

import msgspec

from ostinato.errors import ModelError
from ostinato.loop.changed_requests import ChangedRequests
from ostinato.loop.deps import Deps
from ostinato.loop.fallback import Choice, next_model
from ostinato.loop.retry_policy import (
    LONGEST_WISH_S,
    MALFORMED_RETRIES,
    STREAM_FAILURES,
    WHOLE_AFTER,
    has_given_out,
    in_one_piece,
    wait_before_retry_s,
)
from ostinato.normalise.token_estimate import request_tokens
from ostinato.ports import ModelRequest
from ostinato.state import NO_FAILURES, Failing, QueryConfig, State


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
    """Counts for one turn; `failing` goes on from what the model failed at before. Another model starts with a clean sheet."""

    def __init__(self, deps: Deps, config: QueryConfig, failing: Failing = NO_FAILURES) -> None:
        self._deps = deps
        self._config = config
        self.forget()
        self.failing = failing

    def forget(self) -> None:
        """Another model is asked from here on."""
        self.failing = NO_FAILURES
        self._changed = ChangedRequests()

    def next_try(self, request: ModelRequest, state: State, error: ModelError) -> NextTry:
        """What to do after `error`, which `request` met; each call counts as one failure."""
        model, sent_tokens = state.tool_use_context.model, partial(request_tokens, request, state.messages)
        self._deps.fallbacks.windows.learn(error, model, sent_tokens)
        knows_key = self._deps.refresh_of(state.bounds.fallback_index) is not None
        changed = self._changed.after(error, request, knows_key=knows_key)
        if changed is not None:
            return WithNewKey() if changed == "new_key" else Again(changed, attempt=self.failing.calls + 1)
        if error.recover == "shrink_output":
            return GiveUp()
        before = self.failing
        self.failing = Failing(
            calls=before.calls + 1,
            overloads=before.overloads + 1 if error.kind == "overloaded" else 0,
            cuts=before.cuts + 1 if error.kind in STREAM_FAILURES else 0,
            malformed=before.malformed + (error.kind == "malformed_response"),
        )
        wait_s = self._wait_s(error, state)
        choice = Choice(None)
        if has_given_out(error, overloads=self.failing.overloads, wait_s=wait_s):
            choice = self._other_model(request, state, error)
        if choice.index is not None:
            return WithOtherModel(choice.index, choice.skipped)
        if wait_s is None:
            return GiveUp(choice.skipped)
        return Again(self.in_form(request), wait_s, self.failing.calls + 1)

    def in_form(self, request: ModelRequest) -> ModelRequest:
        """The request in the form in which its reply may come whole."""
        return in_one_piece(request) if self.failing.cuts >= WHOLE_AFTER else request

    def _wait_s(self, error: ModelError, state: State) -> float | None:
        if error.kind == "malformed_response" and self.failing.malformed > MALFORMED_RETRIES:
            return None
        return wait_before_retry_s(
            error,
            self.failing.calls,
            state.tool_use_context.source,
            max_retries=self._config.max_retries,
            jitter=self._deps.jitter(),
            is_unattended=self._config.is_unattended,
        )

    def _other_model(self, request: ModelRequest, state: State, error: ModelError) -> Choice:
        """Nobody waits for background work, so it takes no other model either. What the server asked for is kept."""
        context, chain, now_s = state.tool_use_context, self._deps.fallbacks, self._deps.clock.monotonic_s()
        wish_s = error.retry_after_s or 0.0
        if wish_s > LONGEST_WISH_S or (wish_s > 0 and self.failing.overloads):
            chain.cool_downs.leave_alone(context.model, now_s + wish_s)
        return Choice(None) if context.source.is_background else next_model(chain, state, request, now_s)

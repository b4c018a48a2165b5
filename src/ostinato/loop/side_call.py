"""One question to a model beside the conversation: nothing of it is shown or becomes part of the view, what it cost is written and
told. It fails as a value, and sooner than a turn does: whoever asks has another way out.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.events import SideUsage
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.budget import BudgetSpent
from ostinato.loop.changed_requests import ChangedRequests
from ostinato.loop.deps import Deps
from ostinato.loop.ledger import Ledger
from ostinato.loop.model_call import CallModel, RefreshAuth
from ostinato.loop.reply import Reply
from ostinato.loop.retry_policy import fitting, wait_before_retry_s
from ostinato.messages import NO_USAGE, AssistantMessage, Text
from ostinato.ports import (
    NO_THINKING,
    Abort,
    ModelFacts,
    ModelRequest,
    QuerySource,
    QueryTracking,
    RequestMessage,
)
from ostinato.records import Attempt

MAX_RETRIES: Final = 2
"""Beside the first try (semantics §24.5): a summary is wanted now, and there is a way without one."""

LONGEST_WAIT_S: Final = 5.0
"""Nobody is told of these waits, so none is long: the query goes on without the answer."""


class SideAnswer(msgspec.Struct, frozen=True):
    """The whole reply; nothing of it was run."""

    said: AssistantMessage | None
    stop_reason: str


SideEnd = SideAnswer | ModelError | BudgetSpent | None
"""None: aborted."""


def text_request(
    tracking: QueryTracking,
    source: QuerySource,
    model: ModelFacts,
    *,
    system: str,
    prompt: str,
    max_output_tokens: int,
) -> ModelRequest:
    """One text to answer, without tools or thinking. `tracking` is that of the query it is asked for; the answer has at most what
    the model can write.
    """
    return ModelRequest(
        model=model.id,
        system=(system,),
        messages=(RequestMessage("user", (Text(prompt),)),),
        tools=(),
        max_output_tokens=min(max_output_tokens, model.max_output_tokens),
        source=source,
        tracking=replace(tracking, depth=tracking.depth + 1),
        thinking=NO_THINKING,
    )


class SideCall:
    """Asks one model. `call_model` is the door to that very model, `refresh_auth` who knows a new key for it."""

    def __init__(
        self,
        deps: Deps,
        ledger: Ledger,
        call_model: CallModel,
        model: ModelFacts,
        abort: Abort,
        *,
        refresh_auth: RefreshAuth | None = None,
    ) -> None:
        self._deps = deps
        self._ledger = ledger
        self._call_model = call_model
        self._model = model
        self._abort = abort
        self._refresh_auth = refresh_auth

    async def __call__(self, request: ModelRequest, input_tokens: Callable[[], int]) -> SideEnd:
        """`input_tokens` estimates the request, for the budget and for what the window has room for."""
        windows, failures, changed = self._deps.fallbacks.windows, 0, ChangedRequests()
        request = fitting(request, input_tokens(), windows.believed(self._model).context_window)
        while isinstance(end := await self._once(request, input_tokens), ModelError):
            windows.learn(end, self._model, input_tokens)
            again = changed.after(end, request, knows_key=self._refresh_auth is not None)
            if again is None:
                failures += 1
                again = await self._waited(request, end, failures)
            elif again == "new_key":
                again = request if await self._has_new_key() else None
            if self._abort.reason is not None:
                return None
            if again is None:
                break
            request = again
        return end

    async def _has_new_key(self) -> bool:
        refresh = self._refresh_auth
        return refresh is not None and await unless_aborted(self._abort, refresh, otherwise=False)

    async def _waited(self, request: ModelRequest, error: ModelError, failures: int) -> ModelRequest | None:
        """The same request once it may be sent again; None if it is not to be."""
        wait_s = wait_before_retry_s(
            error, failures, request.source, max_retries=MAX_RETRIES, jitter=self._deps.jitter()
        )
        if wait_s is None or wait_s > LONGEST_WAIT_S:
            return None
        is_over = await unless_aborted(self._abort, partial(self._slept, wait_s), otherwise=False)
        return request if is_over else None

    async def _slept(self, wait_s: float) -> bool:
        await self._deps.clock.sleep(wait_s)
        return True

    async def _once(self, request: ModelRequest, input_tokens: Callable[[], int]) -> SideEnd:
        budget, reply = self._deps.budget, Reply(self._model.id)
        room = budget.reserve(
            self._model, input_tokens, request.max_output_tokens, searches=request.max_searches
        )
        if isinstance(room, BudgetSpent):
            return room
        request = replace(request, max_output_tokens=room.max_output_tokens)
        end: SideEnd = None
        try:
            end = await unless_aborted(self._abort, partial(self._streamed, request, reply), otherwise=None)
        finally:
            # synchronous on purpose: what was used counts also where this task itself is being cancelled
            budget.settle(room, self._model, reply.known_usage(input_tokens))
            self._note(request, reply, end)
        await self._ledger.show()
        return end

    async def _streamed(self, request: ModelRequest, reply: Reply) -> SideEnd:
        try:
            async with self._call_model(request) as stream:
                async for batch in stream:
                    for event in batch:
                        reply.take(event, self._deps.ids)
        except ModelError as error:
            return error
        if reply.stop is None:
            return ModelError("the reply ended without its end mark", kind="stream_cut", retry=True)
        return SideAnswer(reply.said, reply.stop_reason)

    def _note(self, request: ModelRequest, reply: Reply, end: SideEnd) -> None:
        """What it used counts, whatever became of it."""
        used, source = reply.usage, request.source.name
        match end:
            case ModelError():
                made = Attempt(
                    request.model,
                    end.kind,
                    end.status,
                    end.request_id,
                    end.message,
                    usage=used,
                    source=source,
                )
            case SideAnswer():
                made = Attempt(request.model, "ok", usage=used, source=source)
            case _:
                made = Attempt(request.model, "aborted", usage=used, source=source)
        self._ledger.record(made, None if used == NO_USAGE else SideUsage(source, request.model, used))

"""One model call inside a turn: stream it, show it, start its tools; how it ended is a value.

An attempt that breaks keeps what was completed. Sending again, streaming without a stream and other models come here too
(`docs/recovery.md` once they exist); today one request is sent once.
"""

from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.events import AnyModelEvent, AssistantEvent, RequestStart, ResponseUsage, StreamEvent
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.budget import BudgetSpent
from ostinato.loop.deps import Deps
from ostinato.loop.executor import StreamingToolExecutor
from ostinato.loop.ledger import Ledger
from ostinato.loop.reply import Reply
from ostinato.messages import AssistantMessage, ToolUse
from ostinato.normalise.token_estimate import request_tokens
from ostinato.ports import ModelRequest
from ostinato.records import Attempt, ResponseEnded
from ostinato.state import QueryConfig, State, ToolUseContext


class Finished(msgspec.Struct, frozen=True):
    """The reply is complete; it was allowed this many output tokens. `is_shortened`: the budget allowed less than wanted."""

    max_output_tokens: int
    is_shortened: bool = False


class Broke(msgspec.Struct, frozen=True):
    """The call failed, before or during the reply."""

    error: ModelError


class Interrupted(msgspec.Struct, frozen=True):
    """The query was aborted while the reply streamed."""


class Unaffordable(msgspec.Struct, frozen=True):
    """The budget has no room for the call; it was not made."""

    spent: BudgetSpent


AttemptEnd = Finished | Broke | Interrupted | Unaffordable


class Attempts:
    """Calls the model for one turn. Owns nothing that outlives the turn."""

    def __init__(
        self,
        deps: Deps,
        context: ToolUseContext,
        config: QueryConfig,
        ledger: Ledger,
        executor: StreamingToolExecutor,
    ) -> None:
        self._deps = deps
        self._context = context
        self._config = config
        self._ledger = ledger
        self._executor = executor

    async def call_model(self, request: ModelRequest, reply: Reply, state: State) -> AttemptEnd:
        """Stream the reply into `reply`; an abort cancels the call at once, wherever it waits. `request` is built from
        `state`. The budget may shorten what the reply may say, or not allow the call.
        """
        budget, model = self._deps.budget, self._context.model
        estimate = partial(request_tokens, request, state.messages)
        room = budget.reserve(model, estimate, request.max_output_tokens)
        if isinstance(room, BudgetSpent):
            return Unaffordable(room)
        is_shortened = room.max_output_tokens < request.max_output_tokens
        if is_shortened:
            request = replace(request, max_output_tokens=room.max_output_tokens)
        try:
            await self._ledger.emit(RequestStart(request.model, state.turn_count))
            end = await unless_aborted(
                self._context.abort, lambda: self._streamed(request, reply), otherwise=Interrupted()
            )
        finally:
            budget.settle(room, model, reply.known_usage(estimate))
        self._note(request, reply, end)
        await self._ledger.show()
        return replace(end, is_shortened=is_shortened) if isinstance(end, Finished) else end

    async def _streamed(self, request: ModelRequest, reply: Reply) -> AttemptEnd:
        try:
            async with self._deps.call_model(request) as stream:
                async for batch in stream:
                    await self._take(batch, reply)
        except ModelError as error:
            return Broke(error)
        if reply.stop is None:
            return Broke(ModelError("the reply ended without its end mark", kind="stream_cut", retry=True))
        return Finished(request.max_output_tokens)

    async def _take(self, batch: Sequence[AnyModelEvent], reply: Reply) -> None:
        """Write and show a batch, then start the calls that it completed, then show results that are there."""
        completed: list[tuple[ToolUse, AssistantMessage]] = []
        for event in batch:
            self._ledger.stream(StreamEvent(event))
            fragment = reply.take(event, self._deps.ids)
            if fragment is not None:
                self._ledger.record(fragment, AssistantEvent(fragment))
                completed.extend((call, fragment) for call in fragment.tool_uses)
        await self._ledger.show()
        if self._config.streaming_tool_execution:
            for call, fragment in completed:
                self._executor.add_tool(call, fragment)
            await self._ledger.emit(*self._executor.get_completed_results())

    def _note(self, request: ModelRequest, reply: Reply, end: AttemptEnd) -> None:
        match end:
            case Finished():
                stop_reason, usage = reply.stop_reason, reply.usage
                ended = ResponseEnded(reply.response_id, request.model, usage, stop_reason)
                shown = ResponseUsage(reply.response_id, request.model, usage, stop_reason)
                self._ledger.record(Attempt(request.model, "ok"))
                self._ledger.record(ended, shown)
            case Broke(error):
                self._ledger.record(
                    Attempt(request.model, error.kind, error.status, error.request_id, error.message)
                )
            case Interrupted():
                self._ledger.record(Attempt(request.model, "aborted"))
            case Unaffordable():
                pass

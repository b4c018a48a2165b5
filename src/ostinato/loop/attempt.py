"""The model call of a turn: stream it, show it, start its tools, and send it again when it failed; how it ended is a value.

An attempt that broke is taken back whole and made again as long as no tool with side effects has started; else what was
completed stays. Going on with another model comes here too; today there is none.
"""

from collections.abc import Sequence
from functools import partial

import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.events import (
    AnyModelEvent,
    AssistantEvent,
    RequestStart,
    ResponseUsage,
    StreamEvent,
    SystemEvent,
)
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.budget import BudgetSpent
from ostinato.loop.deps import Deps
from ostinato.loop.executor import StreamingToolExecutor
from ostinato.loop.ledger import Ledger
from ostinato.loop.reply import Reply
from ostinato.loop.retry_policy import (
    STREAM_FAILURES,
    WHOLE_AFTER,
    in_one_piece,
    shortened,
    wait_before_retry_s,
)
from ostinato.messages import NO_USAGE, AssistantMessage, ToolUse, Usage, notice_message
from ostinato.normalise.token_estimate import request_tokens
from ostinato.ports import ModelRequest
from ostinato.records import Attempt, ResponseEnded, Retract
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
    """Calls the model for one turn, until a reply is whole or nothing more may be tried. `reply` and `executor` are those of the
    newest attempt; nothing here outlives the turn.
    """

    def __init__(
        self, tasks: TaskGroup, deps: Deps, context: ToolUseContext, config: QueryConfig, ledger: Ledger
    ) -> None:
        self._tasks = tasks
        self._deps = deps
        self._context = context
        self._config = config
        self._ledger = ledger
        self._past_usage = NO_USAGE
        self._failures = 0
        self._cuts = 0
        self._has_shortened = False
        self._begin()

    def _begin(self) -> None:
        self.reply = Reply(self._context.model.id)
        self.executor = StreamingToolExecutor(
            self._tasks, self._context, self._deps, self._ledger, self._config
        )

    @property
    def usage(self) -> Usage:
        """What all attempts together are known to have used."""
        return self._past_usage.plus(self.reply.usage)

    def cancel(self) -> None:
        """End the calls of the newest attempt, synchronously."""
        self.executor.cancel()

    async def call_model(self, request: ModelRequest, state: State) -> AttemptEnd:
        """`request` is built from `state`. After a failure that may pass it is sent again, unless a tool with side effects has
        started; what the failed attempt said and found is then taken back.
        """
        wanted = request.max_output_tokens
        end = await self._attempt(request, state)
        while isinstance(end, Broke) and (again := self._next_try(request, end.error)) is not None:
            request, wait_s = again
            self._take_back()
            if not await self._waited(end.error, wait_s):
                return Interrupted()
            end = await self._attempt(request, state)
        if isinstance(end, Finished):
            return replace(end, is_shortened=end.max_output_tokens < wanted)
        return end

    async def _attempt(self, request: ModelRequest, state: State) -> AttemptEnd:
        """One request, once. An abort cancels it at once, wherever it waits. The budget may shorten what the reply may say, or not
        allow the call.
        """
        budget, model, reply = self._deps.budget, self._context.model, self.reply
        reply.previous_id = state.messages.open_response_id
        estimate = partial(request_tokens, request, state.messages)
        room = budget.reserve(model, estimate, request.max_output_tokens)
        if isinstance(room, BudgetSpent):
            return Unaffordable(room)
        if room.max_output_tokens < request.max_output_tokens:
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
        return end

    def _next_try(self, request: ModelRequest, error: ModelError) -> tuple[ModelRequest, float] | None:
        """What to send after this failure, and how long to wait before; None if that is the end of it."""
        if self.executor.has_side_effects or self._context.abort.reason is not None:
            return None
        if error.recover == "shrink_output":
            smaller = None if self._has_shortened else shortened(request, error)
            self._has_shortened = True
            return None if smaller is None else (smaller, 0.0)
        self._failures += 1
        wait_s = wait_before_retry_s(
            error,
            self._failures,
            self._context.source,
            max_retries=self._config.max_retries,
            jitter=self._deps.jitter(),
        )
        self._cuts = self._cuts + 1 if error.kind in STREAM_FAILURES else 0
        if wait_s is None:
            return None
        return (in_one_piece(request) if self._cuts >= WHOLE_AFTER else request), wait_s

    def _take_back(self) -> None:
        """Nothing of the attempt stays in the history, nor on a screen: another one takes its place."""
        self.executor.cancel("superseded")
        self.executor.close_missing(self.reply.tool_use_blocks, "superseded")
        said = tuple(message.uuid for message in self.reply.assistant_messages)
        results = self.executor.made_results()
        if said:
            edit = Retract(self._deps.ids.uuid(), (*said, *results.shown, *results.unseen))
            self._ledger.retract(edit, (*said, *results.shown))
        self._past_usage = self.usage
        self._begin()

    async def _waited(self, error: ModelError, wait_s: float) -> bool:
        """Tell the user, and wait; False once aborted."""
        if wait_s > 0:
            attempt, attempts = self._failures + 1, self._config.max_retries + 1
            text = f"{error.message}; trying again in {wait_s:.1f} s (attempt {attempt} of {attempts})"
            notice = notice_message(self._deps.ids.uuid(), "api_retry", text, level="warning")
            await self._ledger.record_then_emit((notice, SystemEvent(notice)))
        else:
            await self._ledger.show()
        return await unless_aborted(self._context.abort, partial(self._slept, wait_s), otherwise=False)

    async def _slept(self, seconds: float) -> bool:
        if seconds > 0:
            await self._deps.clock.sleep(seconds)
        return True

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
                self.executor.add_tool(call, fragment)
            await self._ledger.emit(*self.executor.get_completed_results())

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

"""The model call of a turn: stream it, show it, start its tools, and send it again when it failed; how it ended is a value.

An attempt that broke is taken back whole and made again, with another model where the first gave out, as long as no tool with
side effects has started; else what was completed stays, and the next pass goes on from there.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, assert_never

import anyio
import msgspec
from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.events import (
    AnyModelEvent,
    AssistantEvent,
    Denial,
    RequestStart,
    ResponseUsage,
    StreamEvent,
    SystemEvent,
)
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.attempt_notices import (
    fallback_notice,
    heartbeat_notice,
    kept_notice,
    no_fallback_notice,
    not_again_notice,
    retry_notice,
    with_reset_time,
)
from ostinato.loop.budget import BudgetSpent, room_left
from ostinato.loop.deps import Deps
from ostinato.loop.failures import Again, Failures, GiveUp, NextTry, WithNewKey, WithOtherModel
from ostinato.loop.fallback import next_model, taken_over
from ostinato.loop.ledger import Ledger
from ostinato.loop.model_call import CallModel
from ostinato.loop.reply import Reply
from ostinato.loop.request import RequestBuilder
from ostinato.loop.retry_policy import fitting, pieces_of
from ostinato.loop.turn_tasks import TurnTasks
from ostinato.messages import NO_USAGE, AssistantMessage, SystemMessage, ToolUse, Usage, closing_fragment
from ostinato.ports import ModelRequest
from ostinato.records import Attempt, ResponseEnded, Retract
from ostinato.state import QueryConfig, State

if TYPE_CHECKING:
    from ostinato.loop.executor import StreamingToolExecutor


class Finished(msgspec.Struct, frozen=True):
    """The reply is complete; it was allowed this many output tokens. `is_shortened`: window or budget allowed less than
    wanted.
    """

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
    newest attempt, `state` has the model that was asked last; nothing here outlives the turn.
    """

    def __init__(
        self,
        tasks: TurnTasks,
        deps: Deps,
        state: State,
        config: QueryConfig,
        ledger: Ledger,
        requests: RequestBuilder,
        *,
        max_turns: int | None = None,
    ) -> None:
        self.state = state
        self._tasks = tasks
        self._deps = deps
        self._config = config
        self._ledger = ledger
        self._requests = requests
        self._max_turns = max_turns
        self._failures = Failures(deps, config, state.bounds.failing)
        self._past_usage = NO_USAGE
        self._past_denials: list[Denial] = []
        self._abort = state.tool_use_context.abort
        self._executor: StreamingToolExecutor | None = None
        self._begin()

    def _begin(self) -> None:
        self.reply = Reply(self.state.tool_use_context.model.id, knows_call=self._requests.knows_call)
        self._executor = None

    @property
    def executor(self) -> "StreamingToolExecutor":
        """Made when something is asked of it: no first request waits until it is loaded."""
        if self._executor is None:
            from ostinato.loop.executor import StreamingToolExecutor  # ruff: ignore[import-outside-top-level] - as it says

            self._executor = StreamingToolExecutor(
                self._tasks, self.state.tool_use_context, self._deps, self._ledger, self._config
            )
        return self._executor

    @property
    def usage(self) -> Usage:
        """What all attempts together are known to have used."""
        return self._past_usage.plus(self.reply.usage)

    @property
    def denials(self) -> list[Denial]:
        """Those of attempts that were taken back too: somebody said no."""
        return [*self._past_denials, *self.executor.denials]

    def abort(self) -> None:
        """The query was aborted: end the calls of the newest attempt, synchronously, but those that a new message lets end."""
        self.executor.abort()

    def cancel(self) -> None:
        """End the calls of the newest attempt, synchronously."""
        self.executor.cancel()

    async def call_model(self) -> AttemptEnd:
        """After a failure that may pass the request is sent again, or another model takes over, unless a tool with side effects
        has started; what the failed attempt said and found is then taken back.
        """
        request = await self._first_request()
        wanted = request.max_output_tokens
        end = await self._attempt(request)
        while isinstance(end, Broke) and self._abort.reason is None:
            following = self._failures.next_try(request, self.state, end.error)
            if self.executor.has_side_effects:
                return await self._kept(end, following, request)
            again = await self._prepared(request, end.error, following)
            if not isinstance(again, ModelRequest):
                return again
            request = again
            end = await self._attempt(request)
        if isinstance(end, Finished):
            return replace(end, is_shortened=end.max_output_tokens < wanted)
        return end

    async def _first_request(self) -> ModelRequest:
        """From the model of the query, unless it is to be left alone and another can take over."""
        request = self._requests.build(self.state)
        context, chain = self.state.tool_use_context, self._deps.fallbacks
        now_s = self._deps.clock.monotonic_s()
        left_s = chain.cool_downs.left_s(context.model, now_s)
        if left_s <= 0 or context.source.is_background:
            return self._failures.in_form(request)
        choice = next_model(chain, self.state, request, now_s)
        if choice.index is None:
            return self._failures.in_form(request)
        why = f"it is to be left alone for another {left_s:.0f} s"
        await self._take_over(WithOtherModel(choice.index, choice.skipped), why)
        return self._requests.build(self.state)

    async def _prepared(
        self, request: ModelRequest, error: ModelError, following: NextTry
    ) -> ModelRequest | AttemptEnd:
        """The request to send next, everything before it being cleared away and waited for; else how the turn's call ends."""
        match following:
            case Again(again, wait_s):
                spent = self._no_room(again)
                if spent is not None:
                    return await self._not_again(error, spent)
                self._take_back()
                return again if await self._waited(error, wait_s, following.attempt) else Interrupted()
            case WithNewKey():
                self._take_back()
                return request if await self._has_new_key() else await self._gave_up(error)
            case WithOtherModel():
                self._take_back()
                await self._take_over(following, error.message)
                return self._requests.build(self.state)
            case GiveUp(skipped):
                return await self._gave_up(error, skipped)
            case _:
                assert_never(following)

    async def _has_new_key(self) -> bool:
        refresh = self._deps.refresh_of(self.state.bounds.fallback_index)
        return refresh is not None and await unless_aborted(self._abort, refresh, otherwise=False)

    async def _gave_up(self, error: ModelError, skipped: tuple[str, ...] = ()) -> Broke:
        if skipped:
            model = self.state.tool_use_context.model
            await self._tell(no_fallback_notice(self._deps.ids.uuid(), model, skipped))
        self._close_reply()
        return Broke(with_reset_time(error, self._deps.clock.now()))

    def _close_reply(self) -> None:
        """What is complete of a reply that broke off stays, marked as a part."""
        reply = self.reply
        if reply.assistant_messages:
            self._ledger.record(closing_fragment(self._deps.ids.uuid(), reply.response_id, reply.model))

    def _keep_cut_text(self) -> None:
        """Text that was shown and will not be completed stays, so that the user can speak of it."""
        fragment = self.reply.cut_off(self._deps.ids)
        if fragment is not None:
            self._ledger.record(fragment, AssistantEvent(fragment))

    def _no_room(self, request: ModelRequest) -> BudgetSpent | None:
        """Why the budget does not allow the call any more; then nobody waits for it."""
        estimate = partial(self._requests.estimate, request, self.state.messages)
        model = self.state.tool_use_context.model
        room = room_left(
            self._deps.budget, model, estimate, request.max_output_tokens, searches=request.max_searches
        )
        return room if isinstance(room, BudgetSpent) else None

    async def _not_again(self, error: ModelError, spent: BudgetSpent) -> Unaffordable:
        """What is complete of the reply stays, as nothing else will come; calls that still run are ended."""
        self.executor.cancel("budget")
        self.executor.close_missing(self.reply.tool_use_blocks, "budget")
        self._keep_cut_text()
        self._close_reply()
        await self._tell(not_again_notice(self._deps.ids.uuid(), error))
        return Unaffordable(replace(spent, message=f"{spent.message}; the last call failed: {error.message}"))

    async def _kept(self, end: Broke, following: NextTry, request: ModelRequest) -> Broke:
        """The reply is closed as it is. The next pass goes on from there, if there is to be one, with the other model if this one
        gave out. A refusal ends the query, which tells of all this itself.
        """
        self._close_reply()
        if end.error.kind == "refused":
            return end
        await self._tell(kept_notice(self._deps.ids.uuid(), end.error))
        bounds = replace(self.state.bounds, failing=self._failures.failing)
        self.state = replace(self.state, bounds=bounds)
        from ostinato.loop.transitions.used_tools import may_go_on_with_part  # ruff: ignore[import-outside-top-level] - few replies break off

        if not may_go_on_with_part(self.state, self._max_turns):
            return end
        if isinstance(following, WithOtherModel):
            await self._take_over(following, end.error.message)
        elif isinstance(following, Again) and self._no_room(request) is None:
            await self._waited(end.error, following.wait_s, following.attempt)
        return end

    async def _take_over(self, by: WithOtherModel, why: str) -> None:
        substitute = self._deps.fallbacks.substitutes[by.index - 1]
        left = self.state.tool_use_context.model
        self.state = taken_over(self.state, by.index, substitute)
        self._failures.forget()
        if not self.executor.has_side_effects:
            self._begin()
        await self._tell(fallback_notice(self._deps.ids.uuid(), left, substitute.facts, why, by.skipped))

    @property
    def _call(self) -> CallModel:
        return self._deps.call_of(self.state.bounds.fallback_index)

    async def _attempt(self, request: ModelRequest) -> AttemptEnd:
        """One request, once. An abort cancels it at once, wherever it waits. Window and budget may shorten what the reply may say;
        the budget may not allow the call.
        """
        if self._abort.reason is not None:
            return Interrupted()
        state, reply = self.state, self.reply
        budget, model = self._deps.budget, state.tool_use_context.model
        reply.previous_id = state.messages.open_response_id
        estimate = partial(self._requests.estimate, request, state.messages)
        request = fitting(request, estimate(), self._deps.fallbacks.windows.believed(model).context_window)
        room = budget.reserve(model, estimate, request.max_output_tokens, searches=request.max_searches)
        if isinstance(room, BudgetSpent):
            return Unaffordable(room)
        if room.max_output_tokens < request.max_output_tokens:
            request = replace(request, max_output_tokens=room.max_output_tokens)
        try:
            await self._ledger.emit(RequestStart(request.model, state.turn_count))
            end = await unless_aborted(
                self._abort, lambda: self._streamed(request, reply), otherwise=Interrupted()
            )
        except anyio.get_cancelled_exc_class():  # whoever read the events is gone
            self._keep_cut_text()
            raise
        finally:
            budget.settle(room, model, reply.known_usage(estimate))
        self._note(request, reply, end)
        await self._ledger.show()
        return end

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
        self._past_denials = self.denials
        self._begin()

    async def _tell(self, notice: SystemMessage) -> None:
        await self._ledger.record_then_emit((notice, SystemEvent(notice)))

    async def _waited(self, error: ModelError, wait_s: float, attempt: int) -> bool:
        """Tell the user, and wait; False once aborted."""
        await self._ledger.show()
        if wait_s <= 0:
            return self._abort.reason is None
        most = None if self._config.is_unattended else self._config.max_retries
        uuid, shown = self._deps.ids.uuid(), attempt if most is None else min(attempt, most + 1)
        await self._tell(retry_notice(uuid, error, wait_s, attempt=shown, max_retries=most))
        return await unless_aborted(self._abort, partial(self._slept, error, wait_s), otherwise=False)

    async def _slept(self, error: ModelError, wait_s: float) -> bool:
        """Where nobody looks, a host may take a long silence for a hang: signs of life, which are not stored."""
        left_s = wait_s
        for piece_s in pieces_of(wait_s) if self._config.is_unattended else (wait_s,):
            await self._deps.clock.sleep(piece_s)
            left_s -= piece_s
            if left_s > 0:
                await self._ledger.emit(SystemEvent(heartbeat_notice(self._deps.ids.uuid(), error, left_s)))
        return True

    async def _streamed(self, request: ModelRequest, reply: Reply) -> AttemptEnd:
        try:
            async with self._call(request) as stream:
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
        if self._config.streaming_tool_execution and (completed or self._executor is not None):
            for call, fragment in completed:
                self.executor.add_tool(call, fragment)
            ready = self.executor.get_completed_results()
            if ready:
                await self._ledger.emit(*ready)

    def _note(self, request: ModelRequest, reply: Reply, end: AttemptEnd) -> None:
        match end:
            case Finished():
                stop_reason, usage = reply.stop_reason, reply.usage
                ended = ResponseEnded(reply.response_id, request.model, usage, stop_reason)
                shown = ResponseUsage(reply.response_id, request.model, usage, stop_reason)
                self._ledger.record(Attempt(request.model, "ok"))
                self._ledger.record(ended, shown)
            case Broke(error):
                self._note_part(request, reply, error.kind, error.status, error.request_id, error.message)
            case Interrupted():
                self._keep_cut_text()
                self._note_part(request, reply, "aborted")
            case Unaffordable():
                pass

    def _note_part(
        self,
        request: ModelRequest,
        reply: Reply,
        outcome: str,
        status: int | None = None,
        request_id: str = "",
        message: str = "",
    ) -> None:
        """What a reply that broke off is known to have used counts too, for the model that was asked."""
        used = reply.usage
        shown = None if used == NO_USAGE else ResponseUsage(reply.response_id, request.model, used, "")
        attempt = Attempt(request.model, outcome, status, request_id, message, usage=used)
        self._ledger.record(attempt, shown)

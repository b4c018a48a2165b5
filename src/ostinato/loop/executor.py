"""Runs the calls of one response: each as soon as its block is complete, conflicting ones in the order of the request,
all others together; exactly one result per call, whatever happens.

`StreamingToolExecutor` starts calls while the reply still streams; `run_tools` starts them after it. Both end in the same
code. A result is written to the journal when it is there; it is shown in the order of the calls. A call that runs too long is told
to end, and so is one that is stopped; one that does not end within `GRACE_S` is given up, and holds nobody back any more.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Literal

import anyio
import msgspec
from msgspec.structs import replace

from ostinato.codec import sanitise
from ostinato.errors import JournalError, UsageError
from ostinato.events import Denial, ToolEnd, ToolOutput, ToolStart, UserEvent
from ostinato.loop import results
from ostinato.loop.access import Touched
from ostinato.loop.alarms import Alarms
from ostinato.loop.call import CallEnd, Prepared, error_end, permitted, prepare_call, run_call
from ostinato.loop.call_entry import CallEntry
from ostinato.loop.deps import Deps
from ostinato.loop.ledger import Ledger
from ostinato.loop.look import known_refusal
from ostinato.loop.side_question import SideQuestion
from ostinato.loop.turn_tasks import TurnTasks
from ostinato.messages import AssistantMessage, ToolResult, ToolUse, tool_result_message
from ostinato.ports import DecisionReason
from ostinato.records import FileIntended, PermissionDecided, ToolFinished, ToolStarted
from ostinato.state import QueryConfig, ToolUseContext
from ostinato.tool import EXCLUSIVE, NO_ACCESS, Ended
from ostinato.tool_hooks import ToolRan

GRACE_S = 2.0
"""What a call that was told to end has for it: process trees are gone within that time."""

MAX_PROGRESS_CHARACTERS = 4_096
"""The newest of what a tool shows at a time: the channel bounds how many texts wait for a consumer, this how large they are."""


class Results(msgspec.Struct, frozen=True):
    """Uuids of the results there are, as far as they were handed out, and the others."""

    shown: tuple[str, ...]
    unseen: tuple[str, ...]


class StreamingToolExecutor:
    """Calls of one response. `tasks` are the turn's: no call outlives it."""

    def __init__(
        self, tasks: TurnTasks, context: ToolUseContext, deps: Deps, ledger: Ledger, config: QueryConfig
    ) -> None:
        self._tasks = tasks
        self._context = context
        self._deps = deps
        self._ledger = ledger
        self._config = config
        self._ask_side_model = None if deps.side_model is None else SideQuestion(deps, ledger, context)
        self._entries: list[CallEntry] = []
        self._set_alarm = deps.set_alarm or Alarms(tasks.start_soon, deps.clock).set
        self._shown = 0
        self._has_failed = False
        self.denials: list[Denial] = []

    def add_tool(self, block: ToolUse, message: AssistantMessage) -> None:
        """Register a completed call and start it as soon as it may; does nothing once aborted."""
        del message
        if self._context.abort.reason is not None:
            return
        prepared = prepare_call(block, self._context, self._deps.mask)
        access = prepared.access if isinstance(prepared, Prepared) else NO_ACCESS
        entry = CallEntry(block, Touched(EXCLUSIVE if self._config.sequential_tools else access))
        self._entries.append(entry)
        if self._has_failed:
            self._stop(entry, "sibling_error")
        elif isinstance(prepared, CallEnd):
            self._finish(entry, prepared)
        else:
            live = partial(self._live, entry, prepared)
            entry.task = self._tasks.start_soon(live, f"the call `{block.id}` of {block.name}")

    async def _live(self, entry: CallEntry, prepared: Prepared) -> None:
        try:
            with entry.scope:
                await self._run(entry, prepared)
            if entry.late_after_s is not None and not entry.is_over:
                text = results.timed_out(entry.late_after_s, runs_on=entry.runs_on)
                self._finish(entry, error_end(entry.block, text, "timed_out"))
        finally:
            entry.take_back_alarm()
            if entry.given_up is not None:
                entry.given_up.set()

    async def _run(self, entry: CallEntry, prepared: Prepared) -> None:
        look = partial(self._known_refusal, entry, prepared) if prepared.tool.cannot_succeed else None
        answer = await permitted(prepared, self._deps.permissions, self._context, self._deps.mask, look)
        if entry.is_over:  # the abort and the answer came in the same moment
            return
        if isinstance(answer, CallEnd):
            self._deny(entry, prepared, answer)
            return
        prepared, allowed = answer
        self._note_decision(prepared, "allow", allowed.reason)
        if not self._config.sequential_tools:
            entry.touched = Touched(prepared.access)
        entry.is_waiting = True
        self._admit()
        if entry.phase == "queued":
            entry.may_start = anyio.Event()
            await entry.may_start.wait()
        still_running = self._deps.still_running
        if still_running.is_in_the_way_of(entry.touched):
            await still_running.out_of_the_way(entry.touched, self._deps.clock)
        if entry.is_over:  # let in and aborted in the same moment: its result says that it did not run
            return
        self._start(entry, prepared)
        end = await run_call(
            prepared,
            self._context,
            partial(self._progress, entry),
            partial(self._intended, entry),
            self._deps.mask,
            self._ask_side_model,
            entry.cannot_be_stopped,
        )
        self._finish(entry, end)

    async def _known_refusal(self, entry: CallEntry, prepared: Prepared, *, is_patient: bool) -> str | None:
        """Calls that come first may be what lets this one succeed; what touches nothing does not depend on them."""
        for other in () if prepared.access == NO_ACCESS else self._before(entry):
            if not other.is_over and other.touched.conflicts_with(entry.touched):
                if not is_patient:
                    return None
                await other.done.wait()
        is_held_up = self._deps.still_running.is_in_the_way_of(entry.touched)
        return None if is_held_up else await known_refusal(prepared, self._context, self._set_alarm)

    def _before(self, entry: CallEntry) -> Iterable[CallEntry]:
        return takewhile(lambda other: other is not entry, self._entries)

    def _admit(self) -> None:
        """Start, in order, every waiting call that conflicts with no earlier unfinished one, up to the cap.

        Nor with a later one that runs already: the gate may have changed what the waiting call touches.
        """
        cap = self._config.max_tool_concurrency
        running = [entry for entry in self._entries if entry.phase == "executing"]
        earlier: list[CallEntry] = []
        for entry in self._entries:
            if entry.is_over:
                continue
            is_next = entry.phase == "queued" and entry.is_waiting and len(running) < cap
            others = (*earlier, *running)
            if is_next and not any(entry.touched.conflicts_with(other.touched) for other in others):
                entry.phase = "executing"
                if entry.may_start is not None:
                    entry.may_start.set()
                running.append(entry)
            earlier.append(entry)

    def _start(self, entry: CallEntry, prepared: Prepared) -> None:
        """Written before the effect: after a crash, a started call without a result has an unknown outcome."""
        entry.is_read_only = prepared.is_read_only
        entry.started_s = self._deps.clock.monotonic_s()
        entry.ran_with = prepared.input
        block = entry.block
        self._ledger.record(ToolStarted(block.id, prepared.tool.name, prepared.is_read_only, prepared.input))
        self._ledger.progress(ToolStart(block.id, prepared.tool.name, prepared.input))
        entry.interrupt = prepared.tool.interrupt_behaviour
        timeout_s = (
            self._config.tool_timeout_s if prepared.tool.timeout_s is None else prepared.tool.timeout_s
        )
        entry.forget_alarm = self._set_alarm(timeout_s, partial(self._is_late, entry, timeout_s))

    def _is_late(self, entry: CallEntry, timeout_s: float) -> None:
        """Its time is over: it is told to end, and conflicting calls wait until it has, or is given up."""
        entry.late_after_s = timeout_s
        entry.scope.cancel()
        entry.forget_alarm = self._set_alarm(GRACE_S, partial(self._give_up, entry))

    def _give_up(self, entry: CallEntry) -> None:
        """It was told to end and has not: nobody waits for it any more, and what it does from here on is not written."""
        if not entry.is_over:
            with suppress(JournalError):
                self._finish(entry, error_end(entry.block, results.given_up(), "outcome_unknown"))
        if entry.task is not None and not entry.task.is_over:
            entry.given_up = anyio.Event()
            self._hold_back(entry, entry.given_up)
            self._tasks.give_up(entry.task)

    def _hold_back(self, entry: CallEntry, ended: Ended) -> None:
        """Its result is there and its work goes on: what conflicts with what it may yet change waits for it a while."""
        if entry.started_s is not None and not entry.is_read_only:
            self._deps.still_running.add(entry.touched, ended, self._deps.clock.monotonic_s())

    def _intended(self, entry: CallEntry, intended: FileIntended) -> None:
        """Raises UsageError once the call has its result: nothing is changed in the name of a call that was given up."""
        if entry.is_over:
            raise UsageError("the call is over, so it must not change anything")
        self._ledger.record(intended)

    def _progress(self, entry: CallEntry, text: str) -> None:
        if entry.phase == "executing":
            newest = sanitise(text[-MAX_PROGRESS_CHARACTERS:])
            self._ledger.progress(ToolOutput(entry.block.id, entry.block.name, newest))

    def _finish(self, entry: CallEntry, end: CallEnd) -> None:
        """The one place where a call gets its result; a second result is dropped."""
        if entry.is_over:
            return
        entry.phase = "completed"
        if entry.runs_on and entry.work_ended is not None:
            self._hold_back(entry, entry.work_ended)
        now_s = self._deps.clock.monotonic_s()
        duration_ms = 0 if entry.started_s is None else int((now_s - entry.started_s) * 1000)
        message = tool_result_message(self._deps.ids.uuid(), end.result, display=end.display)
        try:
            self._ledger.record(message)
            self._ledger.record(ToolFinished(entry.block.id, end.outcome, duration_ms, end.knows))
            entry.message, entry.outcome = message, end.outcome
        finally:
            entry.done.set()
        self._ledger.progress(ToolEnd(entry.block.id, entry.block.name, end.outcome, duration_ms))
        self._end_siblings(entry)
        self._admit()

    def _end_siblings(self, failed: CallEntry) -> None:
        is_reason = failed.outcome in {"error", "timed_out"} and not failed.is_read_only
        if self._config.abort_siblings and is_reason and failed.started_s is not None:
            self._has_failed = True
            self.cancel("sibling_error")

    def _deny(self, entry: CallEntry, prepared: Prepared, end: CallEnd) -> None:
        """The call is answered with the words of the denial before the query is ended by it."""
        denied = end.denied
        if denied is not None:
            self._note_decision(prepared, "deny", denied.reason)
            denial = Denial(prepared.tool.name, entry.block.id, prepared.input, denied.reason.text)
            self.denials.append(denial)
        self._finish(entry, end)
        if denied is not None and denied.interrupt:
            self._context.abort.abort("denied")

    def _note_decision(
        self, prepared: Prepared, behaviour: Literal["allow", "deny"], reason: DecisionReason
    ) -> None:
        self._ledger.record(
            PermissionDecided(prepared.block.id, prepared.tool.name, behaviour, reason.rule, reason.source)
        )

    @property
    def has_side_effects(self) -> bool:
        """Whether a call has begun that may change something."""
        return any(entry.started_s is not None and not entry.is_read_only for entry in self._entries)

    def calls_that_ran(self) -> list[ToolRan]:
        """Those that began and were not stopped, in the order of the calls."""
        return [ran for ran in map(self._ran, self._entries) if ran is not None]

    def _ran(self, entry: CallEntry) -> ToolRan | None:
        if entry.started_s is None or entry.message is None:
            return None
        (result,) = entry.message.content
        call = replace(entry.block, input=entry.ran_with)
        match result, entry.outcome:
            case ToolResult(), ("ok" | "error" | "timed_out") as outcome:
                return ToolRan(call, result, outcome, entry.is_read_only, self._context.workspace)
            case _:
                return None

    def made_results(self) -> Results:
        """Which results there are; those not handed out yet never will be if the reply is taken back."""
        uuids = [None if entry.message is None else entry.message.uuid for entry in self._entries]
        return Results(
            tuple(uuid for uuid in uuids[: self._shown] if uuid is not None),
            tuple(uuid for uuid in uuids[self._shown :] if uuid is not None),
        )

    def get_completed_results(self) -> list[UserEvent]:
        """Results not handed out yet, in the order of the calls, up to the first call that is not done."""
        ready: list[UserEvent] = []
        while self._shown < len(self._entries):
            message = self._entries[self._shown].message
            if message is None:
                break
            ready.append(UserEvent(message))
            self._shown += 1
        return ready

    async def get_remaining_results(self) -> None:
        """Wait for every call and show the results in order; ends early when aborted."""
        for entry in self._entries:
            if not entry.done.is_set():
                await entry.done.wait()
            await self._ledger.emit(*self.get_completed_results())

    async def ended(self) -> None:
        """Wait until every call has its result."""
        for entry in self._entries:
            if not entry.done.is_set():
                await entry.done.wait()

    def abort(self) -> None:
        """End what the query's abort does not let end by itself. Raises nothing."""
        if self._context.abort.reason == "interrupt":
            self._cancel([entry for entry in self._entries if not entry.may_end], None)
        else:
            self.cancel()

    def cancel(self, reason: results.StopReason | None = None) -> None:
        """End every unfinished call now, synchronously, each with a synthetic error result. Raises nothing.

        The reason, if none is given, is that of the abort. A journal that fails here fails again for the turn itself.
        """
        self._cancel(self._entries, reason)

    def _cancel(self, entries: Sequence[CallEntry], reason: results.StopReason | None) -> None:
        unfinished = [entry for entry in entries if not entry.is_over]
        for entry in unfinished:
            entry.scope.cancel()
            entry.take_back_alarm()
            entry.forget_alarm = self._set_alarm(GRACE_S, partial(self._give_up, entry))
        for entry in unfinished:
            with suppress(JournalError):
                self._stop(entry, reason)

    def close_missing(self, blocks: Sequence[ToolUse], reason: results.StopReason | None = None) -> None:
        """Answer the calls that were never added (completed after the abort)."""
        known = {entry.block.id for entry in self._entries}
        for block in blocks:
            if block.id not in known:
                entry = CallEntry(block, Touched(NO_ACCESS))
                self._entries.append(entry)
                self._stop(entry, reason)

    def _stop(self, entry: CallEntry, reason: results.StopReason | None) -> None:
        why = reason or self._context.abort.reason or "terminated"
        text = results.stopped(why, has_started=entry.started_s is not None, runs_on=entry.runs_on)
        self._finish(entry, error_end(entry.block, text, "cancelled"))


async def run_tools(
    executor: StreamingToolExecutor, blocks: Sequence[ToolUse], messages: Sequence[AssistantMessage]
) -> None:
    """The classic path: start the calls after the reply, under the same rules of conflict, order and cap."""
    by_call = {call.id: message for message in messages for call in message.tool_uses}
    for block in blocks:
        executor.add_tool(block, by_call[block.id])
    await executor.get_remaining_results()

"""Runs the calls of one response: each as soon as its block is complete, conflicting ones in the order of the request,
all others together; exactly one result per call, whatever happens.

`StreamingToolExecutor` starts calls while the reply still streams; `run_tools` starts them after it. Both end in the same
code. A result is written to the journal when it is there; it is shown in the order of the calls.
"""

from collections.abc import Sequence
from typing import Literal

import anyio
import msgspec
from anyio.abc import TaskGroup

from ostinato.events import Denial, ToolEnd, ToolOutput, ToolStart, UserEvent
from ostinato.loop import results
from ostinato.loop.access import conflicts
from ostinato.loop.call import CallEnd, Prepared, error_end, permitted, prepare_call, run_call
from ostinato.loop.deps import Deps
from ostinato.loop.ledger import Ledger
from ostinato.messages import AssistantMessage, ToolUse, UserMessage, tool_result_message
from ostinato.ports import Allowed
from ostinato.records import PermissionDecided, ToolFinished, ToolStarted
from ostinato.state import QueryConfig, ToolUseContext
from ostinato.tool import EXCLUSIVE, Access

CallPhase = Literal["queued", "executing", "completed"]


class _Entry(msgspec.Struct):
    block: ToolUse
    access: Access
    phase: CallPhase = "queued"
    is_waiting: bool = False
    started_s: float = 0.0
    message: UserMessage | None = None
    may_start: anyio.Event = msgspec.field(default_factory=anyio.Event)
    done: anyio.Event = msgspec.field(default_factory=anyio.Event)
    scope: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)


class StreamingToolExecutor:
    """Calls of one response. `tasks` is the turn's group: no call outlives its turn."""

    def __init__(
        self, tasks: TaskGroup, context: ToolUseContext, deps: Deps, ledger: Ledger, config: QueryConfig
    ) -> None:
        self._tasks = tasks
        self._context = context
        self._deps = deps
        self._ledger = ledger
        self._config = config
        self._entries: list[_Entry] = []
        self._shown = 0
        self.denials: list[Denial] = []
        self.wants_interrupt = False

    @property
    def has_started_side_effect(self) -> bool:
        return any(entry.started_s and entry.access.writes for entry in self._entries) or any(
            entry.started_s and entry.access.exclusive for entry in self._entries
        )

    @property
    def has_calls(self) -> bool:
        return bool(self._entries)

    def add_tool(self, block: ToolUse, message: AssistantMessage) -> None:
        """Register a completed call and start it as soon as it may; does nothing once aborted."""
        del message
        if self._context.abort.reason is not None:
            return
        prepared = prepare_call(block, self._context)
        access = prepared.access if isinstance(prepared, Prepared) else Access()
        entry = _Entry(block, EXCLUSIVE if self._config.sequential_tools else access)
        self._entries.append(entry)
        if isinstance(prepared, CallEnd):
            self._finish(entry, prepared)
        else:
            self._tasks.start_soon(self._live, entry, prepared)

    async def _live(self, entry: _Entry, prepared: Prepared) -> None:
        with entry.scope:
            answer = await permitted(prepared, self._deps.permissions, self._context)
            if isinstance(answer, CallEnd):
                self._note_denial(prepared, answer)
                self._finish(entry, answer)
                return
            prepared, allowed = answer
            self._note_allowed(prepared, allowed)
            if not self._config.sequential_tools:
                entry.access = prepared.access
            entry.is_waiting = True
            self._admit()
            await entry.may_start.wait()
            self._start(entry, prepared)
            end = await run_call(
                prepared, self._context, lambda text: self._progress(entry, text), self._ledger.record
            )
            self._finish(entry, end)

    def _admit(self) -> None:
        """Start, in order, every waiting call that no earlier unfinished call conflicts with, up to the cap."""
        running = sum(entry.phase == "executing" for entry in self._entries)
        earlier: list[_Entry] = []
        for entry in self._entries:
            if entry.phase == "completed":
                continue
            is_next = (
                entry.phase == "queued" and entry.is_waiting and running < self._config.max_tool_concurrency
            )
            if is_next and not any(conflicts(entry.access, other.access) for other in earlier):
                entry.phase = "executing"
                entry.may_start.set()
                running += 1
            earlier.append(entry)

    def _start(self, entry: _Entry, prepared: Prepared) -> None:
        """Written before the effect: after a crash, a started call without a result has an unknown outcome."""
        entry.started_s = self._deps.clock.monotonic_s() or 1e-9
        block = entry.block
        self._ledger.record(ToolStarted(block.id, prepared.tool.name, prepared.is_read_only, prepared.input))
        self._ledger.progress(ToolStart(block.id, prepared.tool.name, prepared.input))

    def _progress(self, entry: _Entry, text: str) -> None:
        if entry.phase == "executing":
            self._ledger.progress(ToolOutput(entry.block.id, entry.block.name, text))

    def _finish(self, entry: _Entry, end: CallEnd) -> None:
        """The one place where a call gets its result; a second result is dropped."""
        if entry.phase == "completed":
            return
        entry.phase = "completed"
        duration_s = self._deps.clock.monotonic_s() - entry.started_s if entry.started_s else 0.0
        message = tool_result_message(self._deps.ids.uuid(), end.result, display=end.display)
        entry.message = message
        entry.done.set()
        self._ledger.record(message)
        self._ledger.record(ToolFinished(entry.block.id, end.outcome, int(duration_s * 1000)))
        self._ledger.progress(ToolEnd(entry.block.id, entry.block.name, end.outcome, int(duration_s * 1000)))
        self._admit()

    def _note_allowed(self, prepared: Prepared, allowed: Allowed) -> None:
        reason = allowed.reason
        block = prepared.block
        self._ledger.record(
            PermissionDecided(block.id, prepared.tool.name, "allow", reason.rule, reason.source)
        )

    def _note_denial(self, prepared: Prepared, end: CallEnd) -> None:
        if end.denied is None:
            return
        reason, block = end.denied.reason, prepared.block
        self._ledger.record(
            PermissionDecided(block.id, prepared.tool.name, "deny", reason.rule, reason.source)
        )
        self.denials.append(Denial(prepared.tool.name, block.id, prepared.input, reason.text))
        if end.denied.interrupt:
            self.wants_interrupt = True
            self._context.abort.abort("denied")

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
            await entry.done.wait()
            await self._ledger.emit(*self.get_completed_results())

    def cancel(self, text: str | None = None) -> None:
        """End every unfinished call now, synchronously, each with a synthetic error result."""
        reason = self._context.abort.reason or "user"
        for entry in self._entries:
            if entry.phase != "completed":
                said = text or results.interruption(reason, started=bool(entry.started_s))
                entry.scope.cancel()
                self._finish(entry, error_end(entry.block, said, "cancelled"))

    def close_missing(self, blocks: Sequence[ToolUse], text: str) -> None:
        """Answer the calls that were never added (completed after the abort)."""
        known = {entry.block.id for entry in self._entries}
        for block in blocks:
            if block.id not in known:
                entry = _Entry(block, Access())
                self._entries.append(entry)
                self._finish(entry, error_end(block, text, "cancelled"))


async def run_tools(
    executor: StreamingToolExecutor, blocks: Sequence[ToolUse], messages: Sequence[AssistantMessage]
) -> None:
    """The classic path: start the calls after the reply, under the same rules of conflict, order and cap."""
    by_call = {call.id: message for message in messages for call in message.tool_uses}
    for block in blocks:
        executor.add_tool(block, by_call[block.id])
    await executor.get_remaining_results()

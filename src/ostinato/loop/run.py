"""A query that runs: its channel of events, its abort signal, and its end. Whatever happens inside, it ends in one `Terminal`."""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import cast

import anyio
import msgspec

from ostinato.errors import JournalError, OstinatoError
from ostinato.events import Event, Terminal
from ostinato.history import History
from ostinato.loop.cancellation import must_pass
from ostinato.loop.channel import Channel
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.ledger import Ledger
from ostinato.loop.ownership import start_owned
from ostinato.loop.query_loop import Conclude, QueryEnd, query_loop
from ostinato.loop.queued_prompts import completed
from ostinato.loop.turn import QueryNotes
from ostinato.ports import Abort
from ostinato.records import Aborted

SETTLE_S = 2.0
"""How long leaving a run may wait for its end; the process trees are gone within that time (DESIGN §5)."""

ENDED_BY_HOST = Terminal("aborted_streaming", 0, error="the host ended the run", error_kind="terminated")
"""For a run whose own task was cancelled from outside, in whatever it was doing."""


class _Task(msgspec.Struct):
    """The run's own task: how to end it, and whether it has ended."""

    scope: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)
    done: anyio.Event = msgspec.field(default_factory=anyio.Event)


class Run:
    """What a consumer holds. `messages` is the conversation after the query, None if it did not end by itself."""

    def __init__(self, params: QueryParams, deps: Deps) -> None:
        self.channel: Channel[Event] = Channel()
        self.messages: History | None = None
        self._params = params
        self._deps = deps
        self._task: _Task | None = None
        self._is_concluded = False
        self._forget_abort: Callable[[], None] = _nothing

    @property
    def abort(self) -> Abort:
        return self._params.tool_use_context.abort

    async def start(self) -> None:
        """Begin, in the root task of this event loop."""
        task = _Task()
        await start_owned(lambda: self._work(task))
        self._task = task

    async def _work(self, task: "_Task") -> None:
        """The body of the run's own task; raises nothing but cancellation. Its consumer gets a Terminal in every case."""
        terminal = ENDED_BY_HOST
        try:
            with task.scope:
                terminal = await self._ended(task)
        finally:
            if not self._is_concluded:
                self.channel.close(terminal)
            task.done.set()

    async def _ended(self, task: "_Task") -> Terminal:
        ledger = Ledger(self._deps.journal, self.channel.send, self.channel.offer)
        notes = QueryNotes()
        self._forget_abort = self.abort.on_abort(partial(_record_abort, self.abort, ledger))
        try:
            end = await self._looped(ledger, notes, task)
            if not self._is_concluded:
                await self._closed(end, ledger, notes)
        except BaseException as error:
            if must_pass(error):
                raise
            return internal_error(error, notes)
        finally:
            self._forget_abort()
        return end.terminal

    async def _closed(self, end: QueryEnd, ledger: Ledger, notes: QueryNotes) -> None:
        self.messages = end.messages
        await self._deps.journal.sync()
        await ledger.emit(*completed(notes.consumed))

    async def _conclude(self, task: "_Task", ledger: Ledger, notes: QueryNotes, end: QueryEnd) -> None:
        """The consumer gets the Terminal, and nobody waits for the run, although a call of it that was given up still runs."""
        await self._closed(end, ledger, notes)
        self._forget_abort()
        self._is_concluded = True
        self._deps.budget.end()
        self.channel.close(end.terminal)
        task.done.set()

    async def _looped(self, ledger: Ledger, notes: QueryNotes, task: "_Task") -> QueryEnd:
        self._deps.budget.begin()
        try:
            return await self._within_limits(ledger, notes, partial(self._conclude, task, ledger, notes))
        finally:
            if not self._is_concluded:
                self._deps.budget.end()

    async def _within_limits(self, ledger: Ledger, notes: QueryNotes, conclude: Conclude) -> QueryEnd:
        """Most queries have no limit of time and nothing to fetch: nothing runs beside them."""
        deps = self._deps
        if deps.budget.remaining_s is None and deps.prefetch is None:
            return await query_loop(self._params, deps, ledger, notes, conclude)
        from ostinato.loop.deadline import within_time  # ruff: ignore[import-outside-top-level] - most queries need neither
        from ostinato.loop.prefetch import prefetching  # ruff: ignore[import-outside-top-level] - as above

        async with (
            within_time(deps.budget, deps.clock, self.abort),
            prefetching(self._params, deps) as deps,
        ):
            return await query_loop(self._params, deps, ledger, notes, conclude)

    def leave(self) -> None:
        """The consumer is gone: end everything, synchronously as far as it must be."""
        if self._task is not None and not self._task.done.is_set():
            try:
                self.abort.abort("consumer_left")
            finally:
                self._task.scope.cancel()

    async def settled(self) -> None:
        """Wait, within `SETTLE_S`, until nothing of the run is left."""
        if self._task is not None and not self._task.done.is_set():
            with anyio.move_on_after(SETTLE_S, shield=True):
                await self._task.done.wait()


def _nothing() -> None:
    """There is nothing to forget yet."""


def _record_abort(abort: Abort, ledger: Ledger) -> None:
    """That and why the query was told to stop is a fact; a journal that fails here fails again for the query itself."""
    if abort.reason is not None:
        with suppress(JournalError):
            ledger.record(Aborted(abort.reason))


def internal_error(error: BaseException, notes: QueryNotes) -> Terminal:
    """The Terminal for what no transition foresaw: a journal that cannot be written, a bug."""
    cause = _cause(error)
    if isinstance(cause, OstinatoError):
        text, hint, kind = cause.message, cause.hint, type(cause).__name__
    else:
        logging.getLogger("ostinato").error("the query ended by an unforeseen error", exc_info=cause)
        text, hint, kind = f"{type(cause).__name__}: {cause}", "", "internal"
    return msgspec.structs.replace(notes.terminal("model_error"), error=text, hint=hint, error_kind=kind)


def _cause(error: BaseException) -> BaseException:
    """What a group of errors comes to: its one error, or the first that ostinato can explain (others follow from it)."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    causes = [_cause(member) for member in group.exceptions]
    explained = next((cause for cause in causes if isinstance(cause, OstinatoError)), None)
    return explained or (causes[0] if len(causes) == 1 else group)

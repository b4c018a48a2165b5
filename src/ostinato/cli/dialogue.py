"""The prompts of one open conversation and what becomes of them: sent at once, or queued while a query runs."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

import anyio

from ostinato.cli.earlier_talk import earlier_talk
from ostinato.cli.line_signals import LineSignals
from ostinato.cli.output import OutputClosed
from ostinato.cli.prompt_line import Gesture, PromptLine
from ostinato.cli.running_work import RunningWork
from ostinato.cli.screen import Screen
from ostinato.cli.slash_commands import KEYS, asks_for_help
from ostinato.cli.terminal_text import terminal_text
from ostinato.cli.transcript import Transcript
from ostinato.engine.query_engine import QueryEngine
from ostinato.errors import OstinatoError
from ostinato.events import AssistantEvent, Event, Result

HOW_TO_LEAVE: Final = "(Ctrl-C again or Ctrl-D leaves)\n"

_TICK_S: Final = 1.0
"""How often the times of what runs are drawn anew."""


class Dialogue:
    """One conversation on one terminal."""

    def __init__(
        self,
        engine: QueryEngine,
        screen: Screen,
        line: PromptLine,
        *,
        transcript: Transcript,
        work: RunningWork,
        signals: LineSignals,
    ) -> None:
        self._engine = engine
        self._screen = screen
        self._line = line
        self._transcript = transcript
        self._work = work
        self._signals = signals
        self._inbox: list[str | Gesture] = []
        self._arrived = anyio.Event()
        self._sent: list[str] = []
        self.has_kept = False
        """Whether something waits for the next run of the session; known once `run` has ended."""

    async def run(self, first: str) -> bool:
        """Until the person leaves or a signal ends it; False when the terminal was gone."""
        is_gone = False
        try:
            async with anyio.create_task_group() as around:
                around.start_soon(self._tick)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._line.run, self._typed)
                    try:
                        await self._converse(first)
                    except OutputClosed:
                        is_gone = True
                    self._line.leave()
                around.cancel_scope.cancel()
        finally:  # synchronous: it also holds when a signal cuts all of this short
            with contextlib.suppress(OutputClosed):
                self._line.print_above(self._transcript.broken_off())
            self._keep_unsent()
        return not is_gone

    def _keep_unsent(self) -> None:
        """What was typed behind the line that ended the conversation, and a draft that stands there: told, and kept for the next
        run of the session.
        """
        waiting = [prompt.text for prompt in self._engine.queue.pending()]
        typed = [text for text in (*self._inbox, self._line.draft) if isinstance(text, str) and text.strip()]
        lent = self._work.hand_over()
        was_in_draft = () if self._line.leaves_typed else lent  # else it was only shown
        if self._work.keep(typed):
            self._work.settle((*self._sent, *was_in_draft))
        unsent = [*waiting, *typed, *self._work.left]
        self.has_kept = bool(unsent)
        with contextlib.suppress(OutputClosed):
            for text in unsent:
                self._line.print_above(self._transcript.note(f"not sent: {terminal_text(text)}\n"))

    def _typed(self, typed: str | Gesture) -> None:
        if isinstance(typed, str) and self._work.is_busy:
            self._work.queue(typed)
            return
        if isinstance(typed, str):
            self._sent += self._work.hand_over()
        self._inbox.append(typed)
        self._arrived.set()

    async def _converse(self, first: str) -> None:
        await self._show_earlier()
        self._work.give_back_earlier()
        if first.strip() and not await self._submit(first):
            return
        if self._is_over():
            return
        was_interrupted = False
        while self._signals.cause is None:
            match await self._next():
                case Gesture.END:
                    return
                case Gesture.INTERRUPT if self._signals.leave_if_again() or was_interrupted:
                    return
                case Gesture.INTERRUPT:
                    was_interrupted = True
                    await self._screen.show(self._transcript.note(HOW_TO_LEAVE))
                case str() as text:
                    was_interrupted = False
                    if text.strip() and not await self._submit(text, is_there=self._line.leaves_typed):
                        return
                    if self._is_over():
                        return

    def _is_over(self) -> bool:
        """Whether leaving was asked for while it worked; what was typed in the meantime comes first."""
        return not self._inbox and self._work.is_over()

    async def _next(self) -> str | Gesture:
        if not self._inbox:
            self._work.next_left()
        self._line.refresh()
        with self._signals.at_prompt(self._line.leave, self._line.interrupted):
            while not self._inbox:
                self._arrived = anyio.Event()
                await self._arrived.wait()
        return self._inbox.pop(0)

    async def _submit(self, text: str, *, is_there: bool = False) -> bool:
        """One text and everything that is queued meanwhile; False when the conversation is over. `is_there`: the text stands on
        the screen already.
        """
        self._work.begin()
        try:
            shown = self._transcript.prompt(text)
            await self._screen.show("" if is_there else shown)
            goes_on = await self._shown(self._engine.submit_message(text), before_each=lambda: "")
            if asks_for_help(text):
                await self._screen.show(self._transcript.note(KEYS))
            while goes_on and len(self._engine.queue) and self._signals.cause is None:
                goes_on = await self._shown(self._engine.run_queue(), before_each=self._next_queued)
            return goes_on
        finally:
            self._work.end()

    def _next_queued(self) -> str:
        """The text that the queue sends next, as it stays on the screen; asked in the very moment before it is sent."""
        waiting = self._engine.queue.pending()
        return self._transcript.prompt(waiting[0].text) if waiting else ""

    async def _shown(self, events: AsyncGenerator[Event, None], *, before_each: Callable[[], str]) -> bool:
        """Show the queries; what one cannot do is told, and the conversation stays. False when a command ended it."""
        try:
            with self._signals.in_query(self._engine.interrupt):
                async with aclosing(events):
                    while (result := await self._one_shown(events, before_each())) is not None:
                        if result.ends_conversation:
                            return False
        except OstinatoError as error:
            self._line.print_above(self._work.told(error))
        return True

    async def _one_shown(self, events: AsyncGenerator[Event, None], first_lines: str) -> Result | None:
        """Up to the next `Result`; None when there is none."""
        if first_lines:
            self._line.print_above(first_lines)
        async for event in events:
            if self._sent:  # the text that took their place is written by now
                self._work.settle(self._sent)
                self._sent.clear()
            await self._screen.show(self._work.watch(event) + self._transcript.take(event))
            if isinstance(event, AssistantEvent):
                self._screen.has_shown(call.id for call in event.message.tool_uses)
            if isinstance(event, Result):
                if self._engine.session_id != event.session_id:
                    await self._show_earlier()
                    self._work.give_back_earlier()
                return event
        return None

    async def _show_earlier(self) -> None:
        """What was said before in the session that is open now, before its last summary too."""
        history = await self._engine.whole_history()
        self._line.print_above(earlier_talk(history, self._transcript))

    async def _tick(self) -> None:
        while True:
            await anyio.sleep(_TICK_S)
            if self._work.is_busy:
                self._line.refresh()

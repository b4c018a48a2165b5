"""The query that runs, as the person at the prompt can act on it: stop it, queue a text or send it now, take one back.

Implements `Deeds`. Everything here is done at once, and nothing typed is lost on the way.
"""

import contextlib
import signal
from collections.abc import Callable, Sequence
from typing import Final

from ostinato.cli.error_text import error_text
from ostinato.cli.line_signals import LineSignals
from ostinato.cli.prompt_line import PromptLine
from ostinato.cli.queued_lines import queued_lines
from ostinato.cli.running_shell import RunningShell
from ostinato.cli.terminal_modes import TerminalModes
from ostinato.cli.terminal_style import DIM, Painter, cut_to
from ostinato.cli.transcript import Transcript
from ostinato.engine.prompt_queue import PromptQueue
from ostinato.engine.query_engine import QueryEngine
from ostinato.errors import OstinatoError
from ostinato.events import Event, SystemEvent, Terminal
from ostinato.messages import SystemMessage
from ostinato.ports import Workspace
from ostinato.submissions import QueuedPrompt
from ostinato.visible_text import visible

_WIDE_COLUMNS: Final = 70
"""From here on the status line also says what the keys do."""


class RunningWork:
    """Made before the prompt that asks it and the engine that works: both are given with `attach`."""

    def __init__(
        self,
        transcript: Transcript,
        paint: Painter,
        signals: LineSignals,
        modes: TerminalModes,
        monotonic_s: Callable[[], float],
    ) -> None:
        self._transcript = transcript
        self._paint = paint
        self._signals = signals
        self._modes = modes
        self._monotonic_s = monotonic_s
        self._attached: tuple[QueryEngine, PromptLine] | None = None
        self._started_s: float | None = None
        self._is_last = False
        self._is_summarising = False
        self._left: list[QueuedPrompt] = []
        self._lent: list[str] = []
        self._shell = RunningShell(paint, monotonic_s)

    def attach(self, engine: QueryEngine, line: PromptLine) -> None:
        self._attached = engine, line

    def workspace(self) -> Workspace:
        """Of the session that is open now. Raises RuntimeError before `attach`."""
        if self._attached is None:
            raise RuntimeError("there is no engine yet")
        return self._attached[0].setting.workspace

    def begin(self) -> None:
        """A query runs from now on."""
        self._started_s = self._monotonic_s()

    def end(self) -> None:
        self._started_s = None
        self._is_summarising = False

    @property
    def is_busy(self) -> bool:
        return self._started_s is not None

    def interrupt(self) -> None:
        """End the query; what waits goes back to the person, for it was meant for another situation, and so was leaving."""
        self._is_last = False
        self._signals.take(signal.SIGINT)
        self.give_back_queue()

    def give_back_queue(self) -> None:
        """Put what waits into the draft."""
        if self._attached is None:
            return
        engine, line = self._attached
        lent = self._borrowed(engine.queue.pending())
        if lent:
            self._lent += [prompt.uuid for prompt in lent]
            line.put_into_draft("\n".join(prompt.text for prompt in lent))

    def give_back_earlier(self) -> None:
        """What waited when an earlier run of the session ended is told, and sent by nobody but the person: one after the other
        becomes the draft.
        """
        if self._attached is None:
            return
        engine, line = self._attached
        earlier = self._borrowed(engine.queue.left_earlier())
        if earlier:
            self._left += earlier
            told = _left_waiting(len(earlier), is_put_there=not line.leaves_typed)
            line.print_above(self._transcript.note(told))

    def _borrowed(self, waiting: Sequence[QueuedPrompt]) -> list[QueuedPrompt]:
        """Out of the queue, and still in the session's file until something else is sent or they are dropped."""
        queue = self._queue
        return [] if queue is None else [one for one in waiting if queue.lend(one.uuid) is not None]

    @property
    def _queue(self) -> PromptQueue | None:
        return None if self._attached is None else self._attached[0].queue

    def next_left(self) -> None:
        """The prompt waits: the next of what was left becomes the draft if there is none."""
        if self._attached is None:
            return
        _, line = self._attached
        while self._left and not line.has_draft:
            following = self._left.pop(0)
            self._lent.append(following.uuid)
            line.put_into_draft(following.text)

    @property
    def left(self) -> tuple[str, ...]:
        """What was given back and did not become a draft yet. It waits on in the session's file."""
        return tuple(prompt.text for prompt in self._left)

    def hand_over(self) -> tuple[str, ...]:
        """The draft was sent: what was lent to it, to be settled once that is written."""
        lent, self._lent = tuple(self._lent), []
        return lent

    def settle(self, lent: Sequence[str]) -> None:
        """They are in what was sent, or were dropped. What cannot be written down comes back another time."""
        if self._queue is not None:
            with contextlib.suppress(OstinatoError):
                self._queue.settle(lent)

    def keep(self, texts: Sequence[str]) -> bool:
        """Let them wait in the session's file for its next run; whether that is done for all."""
        if self._attached is None:
            return False
        engine, line = self._attached
        try:
            for text in texts:
                engine.queue.put(text, priority="later")
        except OstinatoError as error:
            line.print_above(self.told(error))
            return False
        return True

    def queue(self, text: str, *, is_urgent: bool = False) -> None:
        """Let the text wait for its turn; an urgent one ends the running query."""
        if self._attached is None or not text.strip():
            return
        self._is_last = False
        engine, line = self._attached
        lent = self.hand_over()
        try:
            engine.queue.put(text, priority="now" if is_urgent else "next")
            self.settle(lent)
        except OstinatoError as error:
            self._lent += lent
            line.put_into_draft(text)
            line.print_above(self.told(error))
        line.refresh()

    def send_now(self, text: str) -> None:
        if text.strip():
            self.queue(text, is_urgent=True)
        elif self._attached is not None:
            engine, _ = self._attached
            engine.interrupt("interrupt" if len(engine.queue) else "user")

    def leave_afterwards(self) -> None:
        """Until a further text or an interrupt."""
        self._is_last = True
        if self._attached is not None:
            self._attached[1].refresh()

    def is_over(self) -> bool:
        """Whether to leave now; asked once. A draft is a reason to stay."""
        is_over, self._is_last = self._is_last, False
        return is_over and self._attached is not None and not (self._left or self._attached[1].has_draft)

    def take_back(self) -> str | None:
        if self._attached is None:
            return None
        engine, line = self._attached
        lent = self._borrowed(engine.queue.pending()[-1:])
        self._lent += [prompt.uuid for prompt in lent]
        line.refresh()
        return lent[0].text if lent else None

    def suspend(self) -> None:
        if self._attached is not None:
            self._attached[1].stop_for(self._modes.suspend_all)

    def shell_printed(self, command: str, printed: str) -> None:
        """The person's own command runs, and printed this newly."""
        self._shell.take(command, printed)
        if self._attached is not None:
            self._attached[1].refresh()

    def watch(self, event: Event) -> str:
        """What is drawn follows; returns what stays of the person's own command when its answer is not what ends it."""
        match event:
            case SystemEvent(SystemMessage(subtype="status", data=data)):
                self._is_summarising = bool(data and data.get("status") == "compacting")
            case SystemEvent():
                self._shell.over()
            case Terminal() if self._shell.is_running:
                return self._transcript.note(self._shell.over())
            case _:
                pass
        return ""

    def told(self, error: OstinatoError) -> str:
        """What went wrong, as lines of the transcript."""
        return self._transcript.note(error_text(visible(error.message), visible(error.hint)))

    def live_lines(self, columns: int, rows: int) -> list[str]:
        """What is drawn above the prompt, in about half of the rows."""
        if self._started_s is None:
            return [""]
        width = columns - 1
        waiting = self._attached[0].queue.pending() if self._attached else ()
        queued = queued_lines(waiting, width, self._paint)
        room = max(rows // 2 - len(queued) - 2, 1)
        unfinished = self._shell.live_lines(width, room) or self._transcript.live_lines(width, room)
        doing = "summarising" if self._is_summarising else "working"
        status = f"{doing}, {self._monotonic_s() - self._started_s:.0f} s"
        if self._is_last:
            status += " · then it leaves; Ctrl-C stops and stays"
        elif columns >= _WIDE_COLUMNS:
            status += " · Ctrl-C stops · what you type waits, Esc sends it now"
        return [*unfinished, "", *queued, self._paint(DIM, cut_to(status, width))]


def _left_waiting(count: int, *, is_put_there: bool) -> str:
    told = "1 prompt was" if count == 1 else f"{count} prompts were"
    if not is_put_there:
        return f"note: {told} waiting when this session ended and not sent:\n"
    how = "it is in the prompt now" if count == 1 else "they come into the prompt one by one"
    return f"note: {told} waiting when this session ended and not sent; {how}, Enter sends, Ctrl-C drops\n"

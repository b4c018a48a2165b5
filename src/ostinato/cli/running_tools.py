"""The tools that run right now, a line each: what it is about, how long it runs, what it wrote last. Their ends stay."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from rich.cells import cell_len

from ostinato.cli.folded import folded
from ostinato.cli.terminal_style import BOLD, CYAN, DIM, GREEN, RED, Painter, cut_to
from ostinato.cli.terminal_text import TerminalText, terminal_text
from ostinato.cli.todo_lines import todo_lines
from ostinato.cli.tool_lines import OUTCOME_WORDS, described, seconds
from ostinato.events import ToolEnd, ToolOutput, ToolStart
from ostinato.messages import Text, ToolResult, ToolUse, UserMessage
from ostinato.todo_list import TOOL_NAME as TODO_TOOL
from ostinato.visible_text import one_line

MAX_SHOWN: Final = 10
"""As many tools run together at most; what waits beyond is counted."""

_HEAD_LINES: Final = 3
_TAIL_LINES: Final = 5
_DIFF_LINES: Final = 60
_TARGET_CHARACTERS: Final = 300
"""Of a call or a line of its output; a question shows the whole."""

_OUTPUT_TOOLS: Final = frozenset({"Bash", "TaskOutput", "TaskStop"})
"""Whose output a person wants to see; of others a count tells enough."""

_NEVER_RAN: Final = frozenset({"denied", "cancelled"})


class _Running(msgspec.Struct):
    label: str
    name: str
    started_s: float
    last_line: str = ""
    end: ToolEnd | None = None
    text: TerminalText = msgspec.field(default_factory=TerminalText)
    line: str = ""


class RunningTools:
    """From the events of tools to lines. `end_lines` is asked when the result is there."""

    def __init__(self, paint: Painter, monotonic_s: Callable[[], float]) -> None:
        self._paint = paint
        self._monotonic_s = monotonic_s
        self._running: dict[str, _Running] = {}
        self._labels: dict[str, str] = {}
        self._withdrawn: set[str] = set()

    def called(self, calls: Sequence[ToolUse]) -> None:
        """What calls are about, also of those that never start."""
        self._withdrawn -= {call.id for call in calls}
        self._labels |= {call.id: described(call, _TARGET_CHARACTERS) for call in calls}

    def start(self, event: ToolStart) -> None:
        self.called([ToolUse(event.tool_use_id, event.name, event.input)])
        self._begin(event.tool_use_id, event.name)

    def output(self, event: ToolOutput) -> None:
        running = self._running.get(event.tool_use_id)
        if running is None:
            return
        # Carriage returns make progress bars: what stands behind the last one is what a terminal would show.
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        *lines, rest = (running.line + running.text.feed(text)).split("\n")
        running.line = rest[-_TARGET_CHARACTERS:]
        spoken = [line for line in (*lines, rest) if line.strip()]
        if spoken:
            running.last_line = one_line(spoken[-1], _TARGET_CHARACTERS)

    def end(self, event: ToolEnd) -> None:
        if event.tool_use_id in self._withdrawn:
            return
        running = self._running.get(event.tool_use_id)
        if running is None:
            running = self._begin(event.tool_use_id, event.name)
        running.end = event

    def withdraw(self) -> None:
        """The reply that asked for what is listed now counts no more: neither does its end, which may still come."""
        self._withdrawn |= {*self._running, *self._labels}
        self._running.clear()
        self._labels.clear()

    def _begin(self, tool_use_id: str, name: str) -> _Running:
        label = self._labels.pop(tool_use_id, one_line(name, _TARGET_CHARACTERS))
        running = self._running[tool_use_id] = _Running(label, name, self._monotonic_s())
        return running

    def live_lines(self, columns: int, max_lines: int) -> list[str]:
        """For what has no result yet, the first at most `max_lines`."""
        shown = list(self._running.values())
        room = min(MAX_SHOWN, max_lines)
        more = len(shown) - room
        lines = [self._live_line(one, columns) for one in shown[: room if more <= 0 else max(room - 1, 0)]]
        return [*lines, self._paint(DIM, f"  … {more + 1} more")] if more > 0 and room else lines

    def result_lines(self, message: UserMessage) -> str:
        """The end line of the call that this message answers, with what is worth showing of its result."""
        results = [block for block in message.content if isinstance(block, ToolResult)]
        return "".join(self._ended(result, message.display) for result in results)

    def rest_lines(self) -> str:
        """The end lines of everything that got no result; nothing runs any more."""
        lines = [self._end_line(running) for running in self._running.values()]
        self._running.clear()
        return "".join(lines)

    def _live_line(self, running: _Running, columns: int) -> str:
        if running.end is not None:
            word = OUTCOME_WORDS[running.end.outcome]
            return self._paint(DIM, cut_to(f"● {running.label}: {word}", columns))
        time = f" {self._monotonic_s() - running.started_s:.0f} s"
        label = cut_to(f"● {running.label}", max(columns - len(time), columns // 2))
        room = columns - cell_len(label) - len(time) - 3
        last = cut_to(running.last_line, room) if running.last_line and room > 8 else ""
        return self._paint(CYAN, label) + self._paint(DIM, f"{time} │ {last}" if last else time)

    def _ended(self, result: ToolResult, display: Any) -> str:
        running = self._running.pop(result.tool_use_id, None)
        if running is None:
            return ""
        diff = display.get("diff") if display else None
        if isinstance(diff, str) and diff:
            return self._end_line(running) + self._diff(diff)
        if running.end is not None and running.end.outcome in _NEVER_RAN:
            return self._end_line(running)
        todos = todo_lines(display) if running.name == TODO_TOOL else []
        if todos:
            return self._end_line(running) + "".join(f"  {line}\n" for line in todos)
        lines = terminal_text(_text_of(result)).rstrip("\n").split("\n")
        if result.is_error or running.name in _OUTPUT_TOOLS:
            return self._end_line(running) + self._quoted(lines)
        notes = [f"{len(lines):,} lines"] if len(lines) > 1 else []
        if display and display.get("is_incomplete"):
            notes.append("not all")
        return self._end_line(running, f" ({', '.join(notes)})" if notes else "")

    def _end_line(self, running: _Running, note: str = "") -> str:
        end = running.end
        style, outcome = GREEN, ""
        if end is None:
            style, outcome = DIM, ": no result"
        elif end.outcome != "ok":
            style, outcome = RED, f": {OUTCOME_WORDS[end.outcome]}"
        time = seconds(end.duration_ms) if end is not None else ""
        return f"{self._paint(style, '●')} {running.label}{outcome}{self._paint(DIM, time + note)}\n"

    def _quoted(self, lines: list[str]) -> str:
        if lines == [""]:
            return ""
        return "".join(self._paint(DIM, f"  │ {line}\n") for line in folded(lines, _HEAD_LINES, _TAIL_LINES))

    def _diff(self, diff: str) -> str:
        lines = folded(terminal_text(diff).rstrip("\n").split("\n"), _DIFF_LINES, 0)
        return "".join(f"  {self._diff_line(line)}\n" for line in lines)

    def _diff_line(self, line: str) -> str:
        if line.startswith(("+++", "---")):
            return self._paint(BOLD, line)
        return self._paint({"+": GREEN, "-": RED, "@": CYAN, "…": DIM}.get(line[:1], ""), line)


def _text_of(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n".join(block.text for block in result.content if isinstance(block, Text))

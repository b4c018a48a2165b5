"""The person's own command while it runs: how long, and the end of what it printed. The whole is shown when it is over."""

from collections.abc import Callable
from typing import Final

from rich.cells import cell_len

from ostinato.cli.folded import folded
from ostinato.cli.terminal_style import CYAN, DIM, Painter, cut_to
from ostinato.cli.terminal_text import terminal_text
from ostinato.visible_text import one_line

MAX_KEPT_LINES: Final = 200
_STOPPED_LINES: Final = 20
"""So many stay on the screen of one that was stopped."""

_LINE_CHARACTERS: Final = 1_000
_COMMAND_CHARACTERS: Final = 300


class RunningShell:
    """From what is printed to lines; at most one command at a time."""

    def __init__(self, paint: Painter, monotonic_s: Callable[[], float]) -> None:
        self._paint = paint
        self._monotonic_s = monotonic_s
        self._command: str | None = None
        self._started_s = 0.0
        self._lines: list[str] = [""]

    @property
    def is_running(self) -> bool:
        return self._command is not None

    def take(self, command: str, printed: str) -> None:
        """What the command printed newly; the first time it has started."""
        if self._command is None:
            self._command, self._started_s = command, self._monotonic_s()
            self._lines = [""]
        lines = (self._lines.pop() + printed).split("\n")
        self._lines = [*self._lines, *(line[-_LINE_CHARACTERS:] for line in lines)][-MAX_KEPT_LINES:]

    def live_lines(self, columns: int, max_lines: int) -> list[str]:
        """The command with its time, and as much of the end of its output as fits."""
        if self._command is None:
            return []
        time = f" {self._monotonic_s() - self._started_s:.0f} s"
        label = cut_to(f"● {self._label()}", max(columns - len(time), columns // 2))
        tail = self._printed()[-(max_lines - 1) :] if max_lines > 1 else []
        room = max(columns - cell_len(_QUOTE), 1)
        quoted = [self._paint(DIM, _QUOTE + cut_to(line.expandtabs(8), room)) for line in tail]
        return [self._paint(CYAN, label) + self._paint(DIM, time), *quoted]

    def over(self) -> str:
        """The end of its output, for one that was stopped: nothing else tells of it. Nothing runs any more."""
        if self._command is None:
            return ""
        lines = [
            f"● {self._label()}: stopped",
            *(self._paint(DIM, _QUOTE + line) for line in folded(self._printed(), 0, _STOPPED_LINES)),
        ]
        self._command = None
        return "".join(f"{line}\n" for line in lines)

    def _label(self) -> str:
        return f"!{one_line((self._command or '').strip(), _COMMAND_CHARACTERS)}"

    def _printed(self) -> list[str]:
        """What a terminal would show of it: of a redrawn line, such as a progress bar, its last state."""
        lines = [terminal_text(line.rstrip("\r").rpartition("\r")[2]) for line in self._lines]
        return [line for line in lines if line.strip()]


_QUOTE: Final = "  │ "

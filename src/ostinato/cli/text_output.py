"""Plain text: the answer alone on standard output, once it is whole; everything else is talk.

What was said before a limit ended the work is all there will be, and is printed; before any other early end it is no answer.
"""

from ostinato.cli.shown import NOTHING, Shown, warning_line
from ostinato.cli.terminal_text import terminal_text
from ostinato.cli.tool_lines import ToolLines
from ostinato.engine.answer import Answer
from ostinato.events import LIMITS_REACHED, Event, Result, SystemEvent, Terminal
from ostinato.messages import SystemMessage


class TextOutput:
    """Implements `Renderer`. `is_terminal`: somebody's screen gets the text, so it must not act there."""

    def __init__(self, *, is_verbose: bool, is_terminal: bool, resume_hint: str) -> None:
        self._is_verbose = is_verbose
        self._is_terminal = is_terminal
        self._resume_hint = resume_hint
        self._answer = Answer()
        self._tools = ToolLines()

    def begin(self) -> Shown:
        return NOTHING

    def show(self, event: Event) -> Shown:
        self._answer.take(event)
        match event:
            case Terminal():
                from ostinato.cli.ending import ending_text  # ruff: ignore[import-outside-top-level] - no request waits for it

                return Shown(self._answered(event), ending_text(event, self._answer, self._resume_hint))
            case SystemEvent(SystemMessage(subtype="local_command_output")):
                return NOTHING  # the result says it once more
            case Result(terminal_reason=None):  # the program's own answer: no query was run for it
                return Shown(talk=event.text) if event.is_error else Shown(self._data(event.text))
            case _:
                pass
        return Shown(talk=warning_line(event) or (self._tools.line(event) if self._is_verbose else ""))

    def _answered(self, terminal: Terminal) -> bytes:
        if terminal.reason in LIMITS_REACHED:
            return self._data(self._answer.text_so_far)
        return self._data(self._answer.text) if terminal.reason == "completed" else b""

    def _data(self, text: str) -> bytes:
        if self._is_terminal:
            text = terminal_text(text)
        ended = text if not text or text.endswith("\n") else text + "\n"
        return ended.encode("utf-8", "replace")

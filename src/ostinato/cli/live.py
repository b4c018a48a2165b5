"""A query as it happens, for a person at a terminal: text as it streams, tools as they start and end, diffs, the cost.

Colours are plain escape sequences of our own; text of models, tools and files is printed, never interpreted.
"""

from collections.abc import Callable
from typing import Final

from ostinato.cli.ending import ending_text
from ostinato.cli.shown import NOTHING, Shown
from ostinato.cli.terminal_text import TerminalText, terminal_text
from ostinato.cli.tool_lines import ToolLines
from ostinato.engine.answer import Answer
from ostinato.events import (
    AssistantEvent,
    BlockStart,
    Event,
    RequestStart,
    StreamEvent,
    SystemEvent,
    Terminal,
    TextDelta,
    Tombstone,
    ToolEnd,
    ToolStart,
    UserEvent,
)
from ostinato.messages import AssistantMessage, Usage, UserMessage

_RESET: Final = "\x1b[0m"
_DIM: Final = "\x1b[2m"
_BOLD: Final = "\x1b[1m"
_RED: Final = "\x1b[31m"
_GREEN: Final = "\x1b[32m"
_CYAN: Final = "\x1b[36m"


WITHDRAWN: Final = "(the reply above is withdrawn)\n"


class LiveView:
    """Implements `Renderer`."""

    def __init__(self, *, has_colour: bool, monotonic_s: Callable[[], float], resume_hint: str = "") -> None:
        self._has_colour = has_colour
        self._monotonic_s = monotonic_s
        self._started_s = monotonic_s()
        self._resume_hint = resume_hint
        self._answer = Answer()
        self._tools = ToolLines()
        self._text = TerminalText()
        self._streamed_characters = 0
        self._is_at_line_start = True
        self._is_reply_shown = False

    def begin(self) -> Shown:
        return NOTHING

    def show(self, event: Event) -> Shown:
        self._answer.take(event)
        if isinstance(event, RequestStart):
            self._is_reply_shown = False
        if isinstance(event, Terminal):
            out = self._on_own_line(self._styled(_DIM, self._cost(event)))
            return Shown(out.encode("utf-8", "replace"), ending_text(event, self._answer, self._resume_hint))
        return Shown(self._out(event).encode("utf-8", "replace"))

    def _out(self, event: Event) -> str:
        line = self._tools.line(event)
        match event:
            case StreamEvent(BlockStart()):
                self._text = TerminalText()
                self._streamed_characters = 0
                return self._on_own_line("")
            case StreamEvent(TextDelta(text=text)):
                self._streamed_characters += len(text)
                return self._spoken(self._text.feed(text))
            case AssistantEvent(message) if not message.is_error:
                return self._whole(message)
            case ToolStart() | ToolEnd():
                self._is_reply_shown = True
                is_bad = isinstance(event, ToolEnd) and event.outcome != "ok"
                return self._on_own_line(self._styled(_RED if is_bad else _CYAN, line))
            case UserEvent(message):
                return self._diff(message)
            case SystemEvent(message) if message.text:
                return self._on_own_line(self._styled(_DIM, f"{terminal_text(message.text)}\n"))
            case Tombstone():
                is_shown, self._is_reply_shown = self._is_reply_shown, False
                return self._on_own_line(self._styled(_DIM, WITHDRAWN if is_shown else ""))
            case _:
                return ""

    def _whole(self, message: AssistantMessage) -> str:
        """The end of a block: a text that did not stream is shown now."""
        text = message.text
        if not text:
            return ""
        was_streamed, self._streamed_characters = self._streamed_characters > 0, 0
        shown = "" if was_streamed else self._spoken(terminal_text(text))
        return shown + self._on_own_line("")

    def _spoken(self, text: str) -> str:
        if text:
            self._is_reply_shown = True
            self._is_at_line_start = text.endswith("\n")
        return text

    def _on_own_line(self, text: str) -> str:
        """The text, after a line end if something stands on the line."""
        start = "" if self._is_at_line_start else "\n"
        self._is_at_line_start = True
        return start + text

    def _diff(self, message: UserMessage) -> str:
        diff = message.display.get("diff") if message.display else None
        if not isinstance(diff, str) or not diff:
            return ""
        lines = [self._diff_line(line) for line in terminal_text(diff).split("\n")]
        return self._on_own_line("".join(lines))

    def _diff_line(self, line: str) -> str:
        if line.startswith(("+++", "---")):
            return self._styled(_BOLD, f"{line}\n")
        style = {"+": _GREEN, "-": _RED, "@": _CYAN}.get(line[:1], "")
        return self._styled(style, f"{line}\n")

    def _styled(self, style: str, line: str) -> str:
        if not self._has_colour or not style or not line:
            return line
        return style + line.removesuffix("\n") + _RESET + "\n"

    def _cost(self, terminal: Terminal) -> str:
        seconds = self._monotonic_s() - self._started_s
        return f"({', '.join((*token_counts(terminal.usage), f'{seconds:.1f} s'))})\n"


def token_counts(usage: Usage) -> tuple[str, ...]:
    """What went in and came out; nothing where nothing was told, as of a reply that was interrupted: that is not zero."""
    read = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    if not read and not usage.output_tokens:
        return ()
    return f"{read:,} tokens in", f"{usage.output_tokens:,} out"

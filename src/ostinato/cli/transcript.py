"""A query on a terminal with a prompt below: what stays on the screen, and what is drawn over until it is complete.

Every text of a model or tool goes through here and keeps no power over the terminal: the only escape sequences are our colours.
"""

from collections.abc import Callable
from typing import Final, Literal

from msgspec.structs import replace

from ostinato.cli.ending import ending_text
from ostinato.cli.folded import folded
from ostinato.cli.live import WITHDRAWN, token_counts
from ostinato.cli.markdown_layout import MarkdownLayout
from ostinato.cli.markdown_pieces import MarkdownPieces, Piece
from ostinato.cli.running_tools import RunningTools
from ostinato.cli.terminal_style import BOLD, DIM, Painter
from ostinato.cli.terminal_text import TerminalText, terminal_text
from ostinato.engine.answer import Answer
from ostinato.events import (
    AssistantEvent,
    AttachmentEvent,
    BlockStart,
    Event,
    RequestStart,
    ResponseUsage,
    Result,
    StreamEvent,
    SystemEvent,
    Terminal,
    TextDelta,
    Tombstone,
    ToolEnd,
    ToolOutput,
    ToolStart,
    UserEvent,
)
from ostinato.messages import AssistantMessage, QueuedCommand, ServerBlock, SystemMessage

_MAX_TAIL_SCREENS: Final = 2
"""Of an unfinished block, so many times what fits is laid out over and over; the whole is when it is complete."""

_PROMPT_HEAD: Final = 30
_PROMPT_TAIL: Final = 10
"""Lines of what a person sent; a paste may be a whole file."""

_CUT: Final = frozenset({"max_tokens", "model_context_window_exceeded", "pause_turn"})
"""A reply that stopped so may be gone on with, in the middle of a line or a block of code."""

INTERRUPTED: Final = "(interrupted)\n"

_INTERRUPTED: Final = frozenset({"aborted_streaming", "aborted_tools"})

_Kind = Literal["", "text", "tools", "note"]


class Transcript:
    """`take` gives the whole lines that stay; `live_lines` what is unfinished now."""

    def __init__(
        self, *, has_colour: bool, monotonic_s: Callable[[], float], columns: Callable[[], int]
    ) -> None:
        self._paint = Painter(has_colour=has_colour)
        self._layout = MarkdownLayout(has_colour=has_colour)
        self._tools = RunningTools(self._paint, monotonic_s)
        self._monotonic_s = monotonic_s
        self._columns = columns
        self._kind: _Kind = ""
        self._begin_query()

    def prompt(self, text: str) -> str:
        """What the person sent, as it stays on the screen; a query begins."""
        self._begin_query()
        return self._said(text)

    def note(self, text: str) -> str:
        """Lines of our own, after an empty one if something else stood before."""
        return self._lines("note", text)

    def passing(self, text: str) -> str:
        """The same for what need not be read."""
        return self.note(self._paint(DIM, text))

    def take(self, event: Event) -> str:
        self._answer.take(event)
        match event:
            case StreamEvent(BlockStart(block_type=block_type)):
                return self._block_begins(block_type)
            case StreamEvent(TextDelta(text=text)):
                self._has_streamed = True
                return self._pieces_shown(self._pieces.feed(self._safe.feed(text)))
            case AssistantEvent(message) if not message.is_error:
                return self._whole(message)
            case ResponseUsage(stop_reason=reason):
                self._goes_on = reason in _CUT and self._is_in_text
                return "" if self._goes_on else self._text_ends()
            case ToolStart():
                self._tools.start(event)
            case ToolOutput():
                self._tools.output(event)
            case ToolEnd():
                self._tools.end(event)
            case UserEvent(message):
                self._held_lines += self._tools.result_lines(message)
                return "" if self._is_in_text else self._held()
            case _:
                return self._between(event)
        return ""

    def broken_off(self) -> str:
        """What was unfinished, as it stays when nothing more will come; empty where nothing was."""
        shown = self._ended()
        return shown + self._lines("note", self._paint(DIM, INTERRUPTED)) if shown else ""

    def live_lines(self, columns: int, max_lines: int) -> list[str]:
        """The unfinished block, as much of its end as fits, and the tools that run."""
        tools = self._tools.live_lines(columns, max(max_lines // 2, 1))
        room = max_lines - len(tools)
        tail = self._pieces.tail
        if tail is None or room < 1:
            return tools
        more = len(tail.source) - _MAX_TAIL_SCREENS * columns * max_lines
        # Code is coloured without what was before it: that would be read anew for every drawing.
        tail = replace(tail, source=tail.source[max(more, 0) :], before="")
        lines = self._layout.last_lines(tail, columns, room)
        apart = [""] if tail.has_gap or self._kind not in {"", "text"} else []
        return [*[*apart, *lines][-room:], *tools]

    # -------------------------------------------------------------------------------------------- inside

    def _begin_query(self) -> None:
        self._answer = Answer()
        self._started_s = self._monotonic_s()
        self._held_lines = ""
        self._is_reply_shown = False
        self._block_is_new()

    def _block_is_new(self) -> None:
        self._safe = TerminalText()
        self._pieces = MarkdownPieces()
        self._has_streamed = False
        self._goes_on = False  # the reply was cut in this text: the next one goes on with it

    @property
    def _is_in_text(self) -> bool:
        """Whether a text is half shown: nothing may come between its parts."""
        return self._pieces.tail is not None

    def _between(self, event: Event) -> str:
        match event:
            case SystemEvent(message):
                return self._text_ends() + self._system(message)
            case RequestStart():
                ended = "" if self._goes_on else self._text_ends()
                self._is_reply_shown = False
                return ended
            case Tombstone():
                return self._withdrawn()
            case AttachmentEvent(message):
                attachment = message.attachment
                is_typed = isinstance(attachment, QueuedCommand)
                return self._text_ends() + self._said(attachment.prompt) if is_typed else ""
            case Terminal():
                return self._terminal(event)
            case Result() if event.terminal_reason is not None and event.turn_count:
                return self._lines("note", self._paint(DIM, f"({self._cost(event)})\n"))
            case _:
                return ""

    def _withdrawn(self) -> str:
        """Said once for all messages of a reply, and only where something of it stands here; nothing more is said of its calls."""
        ended = self._text_ends()
        self._tools.withdraw()
        is_shown, self._is_reply_shown = self._is_reply_shown, False
        return ended + self.passing(WITHDRAWN) if is_shown else ended

    def _system(self, message: SystemMessage) -> str:
        """What a command answered is shown as it is, everything else in passing."""
        if not message.text:  # a state that is over: nothing is to be read
            return ""
        text = terminal_text(message.text).rstrip("\n") + "\n"
        return self.note(text) if message.subtype == "local_command_output" else self.passing(text)

    def _said(self, text: str) -> str:
        first, *rest = folded(terminal_text(text).split("\n"), _PROMPT_HEAD, _PROMPT_TAIL)
        lines = [f"> {first}", *(f"  {line}" for line in rest)]
        return self._lines("", "".join(self._paint(BOLD, f"{line}\n") for line in lines))

    def _block_begins(self, block_type: str) -> str:
        if self._goes_on and block_type != "tool_use":
            self._goes_on = block_type != "text"  # what is thought before is not shown
            return ""
        ended = self._text_ends()
        self._block_is_new()
        return ended

    def _whole(self, message: AssistantMessage) -> str:
        """The end of a block: a text that did not stream is shown now, and the end of one that did when it is known whether its
        reply was cut there."""
        self._tools.called(message.tool_uses)
        searched = [
            block.text.partition("\n")[0] for block in message.content if isinstance(block, ServerBlock)
        ]
        if searched:  # by the provider, inside the reply
            return self._text_ends() + self.passing(terminal_text("".join(f"{line}\n" for line in searched)))
        has_streamed, self._has_streamed = self._has_streamed, False
        if self._goes_on or (message.text and has_streamed):
            return ""
        fed = ""
        if message.text:
            fed = self._pieces_shown(self._pieces.feed(terminal_text(message.text)))
        return fed + self._text_ends()

    def _text_ends(self) -> str:
        """What is left of the text, and what waited for its end."""
        shown = self._pieces_shown(self._pieces.end())
        self._block_is_new()
        return shown + self._held()

    def _held(self) -> str:
        held, self._held_lines = self._held_lines, ""
        self._is_reply_shown = self._is_reply_shown or bool(held)
        return self._lines("tools", held) if held else ""

    def _pieces_shown(self, pieces: list[Piece]) -> str:
        shown: list[str] = []
        for piece in pieces:
            text = self._layout.text(piece, self._columns())
            self._is_reply_shown = True
            shown.append(f"\n{text}" if piece.has_gap or self._kind != "text" else text)
            self._kind = "text"
        return "".join(shown)

    def _lines(self, kind: _Kind, text: str) -> str:
        is_apart = self._kind != kind or kind == ""
        self._kind = kind
        return f"\n{text}" if is_apart else text

    def _ended(self) -> str:
        """The rest of the text, and the tools that nothing more is heard of."""
        shown = self._text_ends()
        rest = self._tools.rest_lines()
        return shown + (self._lines("tools", rest) if rest else "")

    def _terminal(self, terminal: Terminal) -> str:
        shown = self._ended()
        if terminal.reason in _INTERRUPTED and not terminal.error:
            return shown + self._lines("note", self._paint(DIM, INTERRUPTED))
        # Denied calls stand among the tools already.
        ending = ending_text(replace(terminal, denials=()), self._answer, "")
        return shown + (self._lines("note", ending) if ending else "")

    def _cost(self, result: Result) -> str:
        usage = result.tree_usage
        parts = list(token_counts(usage))
        if result.total_cost_usd or (result.cost_is_known and result.costs):
            parts.append(
                f"${result.total_cost_usd:.4f}" + ("" if result.cost_is_known else " and what is unknown")
            )
        parts.append(f"{self._monotonic_s() - self._started_s:.1f} s")
        if result.context_left_percent is not None:
            parts.append(f"{result.context_left_percent} % left before the conversation is summarised")
        return ", ".join(parts)

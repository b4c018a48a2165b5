"""Tool calls as lines for a person: what starts, how it ends, each with what it is about; text of others never acts."""

from typing import Final

from ostinato.cli.call_target import shown_target
from ostinato.events import AssistantEvent, Denial, Event, ToolEnd, ToolStart
from ostinato.messages import ToolUse
from ostinato.visible_text import one_line

MAX_TARGET_CHARACTERS: Final = 120

OUTCOME_WORDS: Final = {
    "ok": "done",
    "error": "failed",
    "denied": "denied",
    "cancelled": "stopped",
    "timed_out": "timed out",
    "outcome_unknown": "outcome unknown",
}


class ToolLines:
    """Remembers what each call is about, so that its end can say it too."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}

    def line(self, event: Event) -> str:
        """The line for this event, with its line end; empty if it has none."""
        match event:
            case AssistantEvent(message):
                self._calls |= {call.id: described(call) for call in message.tool_uses}
                return ""
            case ToolStart():
                self._calls[event.tool_use_id] = described(
                    ToolUse(event.tool_use_id, event.name, event.input)
                )
                return f"→ {self._calls[event.tool_use_id]}\n"
            case ToolEnd():
                call = self._calls.get(event.tool_use_id, one_line(event.name, MAX_TARGET_CHARACTERS))
                return f"← {call}: {OUTCOME_WORDS[event.outcome]}{seconds(event.duration_ms)}\n"
            case _:
                return ""


def denial_lines(denials: tuple[Denial, ...]) -> str:
    """The calls that were not allowed, a line each."""
    lines = [
        f"denied: {described(ToolUse(denial.tool_use_id, denial.tool_name, denial.tool_input))}"
        f" ({one_line(denial.reason, MAX_TARGET_CHARACTERS)})\n"
        for denial in denials
    ]
    return "".join(lines)


def described(call: ToolUse, max_characters: int = MAX_TARGET_CHARACTERS) -> str:
    """The call in a few words, on one line, with nothing hidden in it."""
    return f"{one_line(call.name, 60)}({one_line(shown_target(call.input), max_characters)})"


def seconds(duration_ms: int) -> str:
    """Nothing for what took no time worth telling."""
    return f", {duration_ms / 1000:.1f} s" if duration_ms >= 100 else ""

"""How a query that did not simply succeed is told to a person, on standard error."""

from ostinato.cli.error_text import error_text
from ostinato.cli.tool_lines import denial_lines
from ostinato.engine.answer import Answer
from ostinato.events import LIMITS_REACHED, Terminal
from ostinato.visible_text import visible

_REASONS = {
    "max_turns": ("the turn limit was reached before the task was done", "raise `--max-turns`"),
    "aborted_streaming": ("interrupted", ""),
    "aborted_tools": ("interrupted", ""),
    "refused": ("the model refused to answer", "say it another way, or choose another model"),
    "blocking_limit": ("the conversation fills the model's window", "start a new session"),
}


def ending_text(terminal: Terminal, answer: Answer, resume_hint: str) -> str:
    """What went wrong, with its hint, and every denied call; empty for a clean end."""
    denied = denial_lines(terminal.denials)
    if terminal.reason == "completed":
        notes = "".join(f"note: {visible(note)}\n" for note in answer.notes)
        return notes + denied
    message, hint = _REASONS.get(terminal.reason, (f"the query ended early: {terminal.reason}", ""))
    if terminal.error:
        error = answer.explained(terminal.error) if terminal.reason in LIMITS_REACHED else terminal.error
        message, hint = visible(error), visible(terminal.hint)
    if terminal.reason in {"max_turns", "budget_exhausted", "aborted_streaming", "aborted_tools"}:
        hint = "; ".join(part for part in (hint, resume_hint) if part)
    return denied + error_text(message, hint)

"""Asks the person at the terminal about a call, and never answers by itself: only a whole typed line that says yes is a yes.

What is remembered are the very rules that were shown: for the conversation, or in the project's own rules file.
"""

from pathlib import Path
from typing import Final

from ostinato.cli.prompt_line import PromptLine
from ostinato.cli.question_text import answer_letters, question_text
from ostinato.cli.screen import Screen
from ostinato.engine.options import Allow, Deny, PermissionAsked

DENIED: Final = "The user said no to this call."
LEFT: Final = "The user left the question without an answer."

_PROMPT: Final = "allow? "


class PermissionQuestion:
    """Implements `CanUseTool`. An abort of the query ends the wait."""

    def __init__(self, screen: Screen, cwd: Path, home: Path | None) -> None:
        self._screen = screen
        self._cwd = cwd
        self._home = home

    async def __call__(self, asked: PermissionAsked) -> Allow | Deny:
        await self._screen.until_shown(asked.tool_use_id)
        async with self._screen.held() as line:
            line.print_above(question_text(asked, self._cwd, self._home))
            return await _answer(asked, line)


async def _answer(asked: PermissionAsked, line: PromptLine) -> Allow | Deny:
    letters = answer_letters(asked)
    while True:
        typed = await line.ask(_PROMPT)
        if typed is None:
            return Deny(LEFT, interrupt=True)
        word, _, rest = typed.strip().partition(" ")
        match word.lower():
            case "y" | "yes" if not rest:
                return Allow()
            case "c" if "c" in letters and not rest:
                return Allow(remember=asked.suggestions, remember_for="conversation")
            case "a" | "always" if "a" in letters and not rest:
                return Allow(remember=asked.suggestions, remember_for="project")
            case "n" | "no":
                return Deny(f"{DENIED} Their reason: {rest.strip()}" if rest.strip() else DENIED)
            case _:
                *first, last = letters
                line.print_above(f"type {', '.join(first)} or {last}, and Enter\n")

"""Asks the person at the terminal about a call, and never answers by itself: only a whole typed line that says yes is a yes.

`a` is remembered for the very rules that were shown, and only as long as the conversation.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from ostinato.cli.question_text import question_text
from ostinato.cli.screen import Screen
from ostinato.engine.options import Allow, Deny, PermissionAsked

DENIED: Final = "The user said no to this call."
LEFT: Final = "The user left the question without an answer."

_PROMPT: Final = "allow? "

Grant = tuple[str, str]
"""A tool and a rule that was shown for it."""


class AnswerSource(Protocol):
    """Where answers come from; `TypedAnswer` reads them from the terminal."""

    def opened(self) -> AbstractContextManager[None]:
        """For the length of a question; what was typed before it opened is no answer."""
        ...

    async def read_line(self) -> str | None: ...


class PermissionQuestion:
    """Implements `CanUseTool`. An abort of the query ends the wait."""

    def __init__(self, screen: Screen, answers: AnswerSource, cwd: Path) -> None:
        self._screen = screen
        self._answers = answers
        self._cwd = cwd
        self._grants: frozenset[Grant] = frozenset()

    async def __call__(self, asked: PermissionAsked) -> Allow | Deny:
        grants = frozenset((asked.tool_name, rule) for rule in asked.suggestions)
        if grants and grants <= self._grants:
            return Allow()
        await self._screen.until_shown(asked.tool_use_id)
        async with self._screen.held() as write:
            await write(question_text(asked, self._cwd))
            with self._answers.opened():
                return await self._answer(write, grants)

    async def _answer(
        self, write: Callable[[str], Awaitable[None]], grants: frozenset[Grant]
    ) -> Allow | Deny:
        while True:
            await write(_PROMPT)
            line = await self._answers.read_line()
            if line is None:
                await write("\n")
                return Deny(LEFT, interrupt=True)
            word, _, rest = line.strip().partition(" ")
            match word.lower():
                case "y" | "yes" if not rest:
                    return Allow()
                case "a" | "always" if grants and not rest:
                    self._grants |= grants
                    return Allow()
                case "n" | "no":
                    return Deny(f"{DENIED} Their reason: {rest.strip()}" if rest.strip() else DENIED)
                case _:
                    await write("type y, a or n, and Enter\n" if grants else "type y or n, and Enter\n")

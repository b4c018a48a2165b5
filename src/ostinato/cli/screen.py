"""The one terminal that answers, tool lines and questions share: while a question is open, nothing else is written."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from ostinato.cli.prompt_line import PromptLine
from ostinato.cli.terminal_outbox import TerminalOutbox

CATCH_UP_S: Final = 1.0
"""How long a question waits for the text before it; a call that is never shown is asked about all the same."""

MAX_KNOWN_CALLS: Final = 1_000
"""The calls of the newest replies; older ones are asked about no more."""


class Screen:
    """Everything of a conversation that stays on the terminal goes through here."""

    def __init__(self, outbox: TerminalOutbox, line: PromptLine) -> None:
        self._outbox = outbox
        self._line = line
        self._in_use = anyio.Lock()
        self._shown_calls: dict[str, anyio.Event] = {}

    async def show(self, text: str) -> None:
        """Whole lines, above the prompt; none only draws the prompt anew. Raises OutputClosed when the terminal is gone."""
        async with self._in_use:
            if text:
                self._line.print_above(text)
            self._line.refresh()
            await self._outbox.caught_up()

    def has_shown(self, tool_use_ids: Iterable[str]) -> None:
        """What led to these calls stands on the screen."""
        for tool_use_id in tool_use_ids:
            self._call(tool_use_id).set()

    async def until_shown(self, tool_use_id: str) -> None:
        """Wait, not for long, until what led to this call stands on the screen: calls start while their reply is still shown."""
        with anyio.move_on_after(CATCH_UP_S):
            await self._call(tool_use_id).wait()

    def _call(self, tool_use_id: str) -> anyio.Event:
        shown = self._shown_calls.setdefault(tool_use_id, anyio.Event())
        if len(self._shown_calls) > MAX_KNOWN_CALLS:
            del self._shown_calls[next(iter(self._shown_calls))]
        return shown

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[PromptLine, None]:
        """For a question: until the block is left, only what it does with the prompt reaches the screen."""
        async with self._in_use:
            yield self._line

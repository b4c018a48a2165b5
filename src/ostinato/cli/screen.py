"""The one terminal that answers, tool lines and questions share: while a question is open, nothing else is written."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from ostinato.cli.output import Output
from ostinato.cli.shown import Shown
from ostinato.cli.standard_streams import talk

CATCH_UP_S: Final = 1.0
"""How long a question waits for the text before it; a call that is never shown is asked about all the same."""


class Screen:
    """Everything of a conversation that is not its prompt goes through here."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._in_use = anyio.Lock()
        self._shown_calls: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)

    async def show(self, shown: Shown) -> None:
        """Raises OutputClosed when nobody reads any more."""
        async with self._in_use:
            if shown.out:
                await self._output.write(shown.out)
            if shown.talk:
                talk(shown.talk)

    def has_shown(self, tool_use_ids: Iterable[str]) -> None:
        """What led to these calls stands on the screen."""
        for tool_use_id in tool_use_ids:
            self._shown_calls[tool_use_id].set()

    async def until_shown(self, tool_use_id: str) -> None:
        """Wait, not for long, until what led to this call stands on the screen: calls start while their reply is still shown."""
        with anyio.move_on_after(CATCH_UP_S):
            await self._shown_calls[tool_use_id].wait()

    async def say(self, text: str) -> None:
        """One text of our own. Raises OutputClosed."""
        await self.show(Shown(text.encode("utf-8", "replace")))

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[Callable[[str], Awaitable[None]], None]:
        """For a question: until the block is left, only its own writer reaches the screen."""
        async with self._in_use:
            yield self._write

    async def _write(self, text: str) -> None:
        await self._output.write(text.encode("utf-8", "replace"))

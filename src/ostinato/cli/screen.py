"""The one terminal that answers, tool lines and questions share: while a question is open, nothing else is written."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from ostinato.cli.output import Output
from ostinato.cli.shown import Shown
from ostinato.cli.standard_streams import talk


class Screen:
    """Everything of a conversation that is not its prompt goes through here."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._in_use = anyio.Lock()

    async def show(self, shown: Shown) -> None:
        """Raises OutputClosed when nobody reads any more."""
        async with self._in_use:
            if shown.out:
                await self._output.write(shown.out)
            if shown.talk:
                talk(shown.talk)

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

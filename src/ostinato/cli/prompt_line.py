"""Where a person types, as the conversation sees it: texts come in, lines go out above, a question gets an answer."""

from collections.abc import Callable
from enum import Enum, auto
from typing import Final, Protocol

import anyio

PROMPT: Final = "> "

QUIET_S: Final = 0.4
"""So long after a question appeared nothing typed is an answer: nobody has read it yet, and fingers were on their way."""


async def quiet_moment() -> None:
    await anyio.sleep(QUIET_S)


class Gesture(Enum):
    """What a person may do at the prompt besides sending a text."""

    INTERRUPT = auto()
    """Ctrl-C on an empty line while nothing works."""
    END = auto()
    """Ctrl-D on an empty line, or the terminal is gone."""


Take = Callable[[str | Gesture], None]
"""Gets every text and gesture at once; must not block."""


class PromptLine(Protocol):
    """One terminal's input. Everything but `run` and `ask` is done when it returns."""

    @property
    def leaves_typed(self) -> bool:
        """Whether what was typed stays on the screen by itself."""
        ...

    @property
    def has_draft(self) -> bool:
        """Whether a text stands there that was not sent."""
        ...

    @property
    def draft(self) -> str:
        """That text, also once `run` has ended."""
        ...

    async def run(self, take: Take) -> None:
        """Read until cancelled or until `Gesture.END`."""
        ...

    async def ask(self, prompt: str) -> str | None:
        """A line that was typed after `prompt` appeared, a moment after this was called; None if there will be none. What was being
        typed waits meanwhile.
        """
        ...

    def print_above(self, text: str) -> None:
        """Whole lines that stay."""
        ...

    def refresh(self) -> None:
        """What is drawn around the prompt has changed."""
        ...

    def put_into_draft(self, text: str) -> None:
        """Back to the person, before what is being typed."""
        ...

    def stop_for(self, suspend: Callable[[], None]) -> None:
        """Leave the terminal to the shell while `suspend` runs."""
        ...

    def interrupted(self) -> None:
        """The signal of Ctrl-C came while nothing works."""
        ...

    def leave(self) -> None:
        """End `run`."""
        ...

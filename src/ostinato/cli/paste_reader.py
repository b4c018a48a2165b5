"""Reading a paste in one pass: the library's own reader looks through all of it again for every thousand bytes."""

from collections.abc import Callable
from typing import Final

from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress

_END: Final = "\x1b[201~"


class PasteParser(Vt100Parser):
    """Gathers the parts of a paste and hands it on whole, once its end is there."""

    def __init__(self, feed_key_callback: Callable[[KeyPress], None]) -> None:
        super().__init__(feed_key_callback)
        self._parts: list[str] = []
        self._last = ""

    def feed(self, data: str) -> None:
        if not self._in_bracketed_paste:
            super().feed(data)
            return
        self._parts.append(data)
        seen = self._last + data
        self._last = seen[1 - len(_END) :]
        if _END in seen:
            whole = "".join(self._parts)
            self._parts, self._last = [], ""
            super().feed(whole)


def read_pastes_in_one_pass(typed: Input) -> None:
    """For the length of the program. What is no terminal's input stays as it is."""
    if isinstance(typed, Vt100Input):
        typed.vt100_parser = PasteParser(typed.vt100_parser.feed_key_callback)

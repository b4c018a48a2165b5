"""The editor's way to the terminal: through the outbox, with bracketed paste on from the first prompt to the last."""

import os
from io import StringIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

from ostinato.cli.terminal_outbox import TerminalOutbox

_DEFAULT_SIZE = os.terminal_size((80, 24))


def terminal_size(descriptor: int = 1) -> os.terminal_size:
    """Columns and rows now; a terminal that does not know says 80 × 24."""
    try:
        size = os.get_terminal_size(descriptor)
    except OSError:
        return _DEFAULT_SIZE
    return size if size.columns and size.lines else _DEFAULT_SIZE


class EditorOutput(Vt100_Output):
    """It never asks the terminal for its cursor: the answer could come late, as if it had been typed."""

    def __init__(self, outbox: TerminalOutbox, term: str) -> None:
        super().__init__(StringIO(), _size, term=term, enable_cpr=False, enable_bell=False)
        self._outbox = outbox
        self._takes_pastes = False

    def flush(self) -> None:
        data, self._buffer = "".join(self._buffer), []
        if data:
            self._outbox.put(data)

    def enable_bracketed_paste(self) -> None:
        if not self._takes_pastes:
            self._takes_pastes = True
            super().enable_bracketed_paste()

    def disable_bracketed_paste(self) -> None:
        """Not between two drawings: a paste could come just then. `let_go` does it."""

    def let_go(self) -> None:
        """Leave the terminal as a shell wants it: before the program stops or ends."""
        if self._takes_pastes:
            self._takes_pastes = False
            super().disable_bracketed_paste()
        self.reset_attributes()
        self.show_cursor()
        self.flush()

    def fileno(self) -> int:
        return 1


def _size() -> Size:
    size = terminal_size()
    return Size(rows=size.lines, columns=size.columns)

"""A small terminal: what the bytes of a program make of a screen, with everything that scrolled off, and the modes it left on.

It knows exactly the sequences that the command may send. Any other one is an `Unexpected`: a fault of the command, or a
sequence of others that came through.
"""

import re
from typing import Final

from rich.cells import cell_len

_SEQUENCE: Final = re.compile(r"\x1b\[(\??)([0-9;]*)([@-~])")
_MODES: Final = frozenset({"1", "7", "12", "25", "2004"})
"""Cursor keys, wrapping, blinking, cursor, bracketed paste: nothing else is ours to switch."""


class Unexpected(AssertionError):
    """A sequence or control character that the command has no business with."""


class TerminalScreen:
    """Feed it text; read `lines`. A line that was wrapped by the terminal is one line."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self._rows = rows
        self._cells: list[list[str]] = [[]]
        self._is_wrapped: list[bool] = [False]
        self._row = 0
        self._column = 0
        self._rest = ""
        self.modes: dict[str, bool] = {"7": True, "25": True, "2004": False}
        self.has_colour = False
        self.restarts = 0

    @property
    def text(self) -> str:
        """Everything, from the first line that scrolled off to the last."""
        lines: list[str] = []
        for cells, is_wrapped in zip(self._cells, self._is_wrapped, strict=True):
            line = "".join(cells)
            if is_wrapped and lines:
                lines[-1] += line
            else:
                lines.append(line)
        return "\n".join(line.rstrip() for line in lines)

    @property
    def bottom(self) -> str:
        """The rows that can be seen now."""
        return "\n".join("".join(cells).rstrip() for cells in self._cells[self._top :])

    @property
    def cursor_line(self) -> str:
        return "".join(self._cells[self._row]).rstrip()

    @property
    def _top(self) -> int:
        return max(len(self._cells) - self._rows, 0)

    def feed(self, text: str) -> None:
        """Raises Unexpected."""
        text, self._rest = self._rest + text, ""
        place = 0
        while place < len(text):
            character = text[place]
            if character == "\x1b":
                found = _SEQUENCE.match(text, place)
                if found is None:
                    if len(text) - place > 20:
                        raise Unexpected(repr(text[place : place + 20]))
                    self._rest = text[place:]
                    return
                self._act(found[1], found[2], found[3])
                place = found.end()
                continue
            self._put(character)
            place += 1

    def resize(self, columns: int, rows: int) -> None:
        """No line is wrapped anew: the command draws what is below its text again."""
        self.columns, self._rows = columns, rows

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._down(is_wrapped=False)
        elif character == "\b":
            self._column = max(self._column - 1, 0)
        elif character == "\t":
            for _ in range(8 - self._column % 8):
                self._write(" ", 1)
        elif character < " " or "\x7f" <= character <= "\x9f":
            raise Unexpected(repr(character))
        else:
            self._write(character, cell_len(character))

    def _write(self, character: str, width: int) -> None:
        cells = self._cells[self._row]
        if width == 0:
            if self._column and self._column <= len(cells):
                cells[self._column - 1] += character
            return
        if self._column + width > self.columns:
            if self.modes["7"]:
                self._down(is_wrapped=True)
                self._column = 0
            else:
                self._column = self.columns - width
        cells = self._cells[self._row]
        cells.extend(" " for _ in range(self._column + width - len(cells)))
        cells[self._column : self._column + width] = [character, *[""] * (width - 1)]
        self._column += width

    def _down(self, *, is_wrapped: bool) -> None:
        self._row += 1
        if self._row == len(self._cells):
            self._cells.append([])
            self._is_wrapped.append(is_wrapped)
        else:
            self._is_wrapped[self._row] = is_wrapped

    def _act(self, private: str, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdigit() else 1
        if private:
            if letter not in "hl" or numbers not in _MODES:
                raise Unexpected(f"mode {numbers}{letter}")
            self.modes[numbers] = letter == "h"
        elif letter == "m":
            self.has_colour = self.has_colour or numbers not in {"", "0"}
        elif letter == "A":
            self._row = max(self._row - count, self._top)
        elif letter == "B":
            self._row = min(self._row + count, len(self._cells) - 1)
        elif letter == "C":
            self._column = min(self._column + count, self.columns - 1)
        elif letter == "D":
            self._column = max(self._column - count, 0)
        elif letter == "K" and not numbers:
            del self._cells[self._row][self._column :]
        elif letter == "J" and not numbers:
            del self._cells[self._row][self._column :]
            del self._cells[self._row + 1 :]
            del self._is_wrapped[self._row + 1 :]
            self.restarts += 1
        else:
            raise Unexpected(f"{numbers}{letter}")

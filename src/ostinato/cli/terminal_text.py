"""Text that others wrote, made safe for a terminal: no escape sequence, no control character reaches the screen.

`TerminalText` holds across deltas, so that a sequence cut in two is still one sequence. Where a person decides, what hides is
written out instead (`visible_text.py`).
"""

import re
from typing import Final, Literal

_SUSPECT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Anything but text, tab and line feed, and what turns the text around it about (a diff would show other code than it
holds; scripts written from right to left do without); a chunk without these passes as it is."""

_STRING_INTRODUCERS: Final = frozenset("]PX^_")
"""After ESC: OSC, DCS, SOS, PM, APC. They swallow what follows up to their end mark."""

_EIGHT_BIT: Final = {"\x9b": "[", "\x9d": "]", "\x90": "P", "\x98": "X", "\x9e": "^", "\x9f": "_"}
"""C1 controls and what they stand for after ESC."""

_Place = Literal["text", "escape", "parameters", "string", "string_escape"]


class TerminalText:
    """A filter for one stream of text. An unterminated sequence ends at the next line, so that nothing swallows a screen."""

    def __init__(self) -> None:
        self._place: _Place = "text"

    def feed(self, text: str) -> str:
        """The printable part of the next piece."""
        if self._place == "text" and not _SUSPECT.search(text):
            return text
        return "".join(filter(self._shows, text))

    def _shows(self, character: str) -> bool:
        """Take in one character; whether it is text."""
        match self._place:
            case "text":
                return self._in_text(character)
            case "escape":
                return self._in_escape(character)
            case "parameters":
                return self._in_parameters(character)
            case "string":
                return self._in_string(character)
            case "string_escape":
                if character == "\\":
                    self._place = "text"
                    return False
                return self._in_escape(character)

    def _in_text(self, character: str) -> bool:
        self._place = "text"
        if character == "\x1b":
            self._place = "escape"
            return False
        if character in _EIGHT_BIT:
            return self._in_escape(_EIGHT_BIT[character])
        return not _SUSPECT.match(character)

    def _in_escape(self, character: str) -> bool:
        if character == "[":
            self._place = "parameters"
        elif character in _STRING_INTRODUCERS:
            self._place = "string"
        elif " " <= character <= "/":
            self._place = "escape"
        elif "0" <= character <= "~":
            self._place = "text"
        else:
            return self._in_text(character)
        return False

    def _in_parameters(self, character: str) -> bool:
        if " " <= character <= "?":
            return False
        if "@" <= character <= "~":
            self._place = "text"
            return False
        return self._in_text(character)

    def _in_string(self, character: str) -> bool:
        if character == "\x1b":
            self._place = "string_escape"
        elif character in "\x07\x9c":
            self._place = "text"
        elif character == "\n":
            self._place = "text"
            return True
        return False


def terminal_text(text: str) -> str:
    """A whole text, safe to print."""
    return TerminalText().feed(text)

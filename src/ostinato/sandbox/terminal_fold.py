"""Output as a terminal would show it in the end, while it streams: no escape sequences, and of a redrawn line what it became.

So an hour of progress bars takes no more room than its last state, and cannot push out what else was said.
"""

import re
from typing import Final

MAX_LINE_BYTES: Final = 65_536
"""An unfinished line that is longer is passed on as far as it goes."""

SEQUENCE: Final = re.compile(
    rb"""
    \x1b\[ [0-?]* [ -/]* [@-~]                       # CSI: colours, cursor
    | \x1b[\]PX^_] [^\x07\x1b\r\n]* (?: \x07 | \x1b\\ )?  # OSC, DCS, ...: to their end, or that of the line
    | \x1b [ -/]* [0-~]                              # two-byte sequences
    """,
    re.VERBOSE,
)
UNFINISHED: Final = re.compile(rb"\x1b (?: \[ [0-?]* )? [ -/]* \Z", re.VERBOSE)
"""The beginning of a sequence whose end has not come yet."""

CHARACTER: Final = re.compile(rb"[\xc0-\xff][\x80-\xbf]*|[\x00-\xff]")


class TerminalFold:
    """A filter for bytes. The last line is held back until it is finished: whoever redraws it has not said so yet."""

    def __init__(self) -> None:
        self._line = b""

    @property
    def unfinished(self) -> bytes:
        """What the line that is held back looks like now."""
        return _folded(self._line)

    def feed(self, chunk: bytes) -> bytes:
        """The lines that are finished by now."""
        text = self._line + chunk
        end = text.rfind(b"\n") + 1
        line = text[end:]
        said = line.rstrip(b"\r")
        redrawn = said.rpartition(b"\r")[2]
        # Colours alone, or the beginning of a sequence, draw nothing over what stood there.
        is_drawn = SEQUENCE.sub(b"", UNFINISHED.sub(b"", redrawn)) != b""
        self._line = (redrawn if is_drawn else said) + line[len(said) :]
        held = self.end() if len(self._line) > MAX_LINE_BYTES else b""
        return _folded(text[:end]) + held

    def end(self) -> bytes:
        """What was held back: nothing more will come."""
        line, self._line = self._line, b""
        return _folded(line)


def _folded(text: bytes) -> bytes:
    """Whole lines, or the end of one."""
    if b"\x1b" in text:
        text = SEQUENCE.sub(b"", text)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b"\r" in text or b"\b" in text:
        text = b"\n".join(_last_state(line) for line in text.split(b"\n"))
    return text


def _last_state(line: bytes) -> bytes:
    """What follows the last return to the line's beginning, each backspace with what it takes back."""
    line = line.rstrip(b"\r").rpartition(b"\r")[2]
    if b"\b" not in line:
        return line
    kept: list[bytes] = []
    for character in CHARACTER.findall(line):
        if character != b"\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return b"".join(kept)

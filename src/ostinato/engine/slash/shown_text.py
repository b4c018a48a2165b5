"""Names and sentences that others wrote, made fit for one line: every character visible, nothing that drives a terminal.

Widths are columns of a terminal: a wide character takes two, a combining one none.
"""

import unicodedata
from pathlib import Path

from ostinato.codec import sanitise
from ostinato.visible_text import visible, visible_line


def shown_line(text: str | Path, max_columns: int) -> str:
    """`text` on one line, cut at `max_columns`; line ends become spaces, whatever does not show is written out."""
    line = visible(" ".join(sanitise(str(text)[: max_columns * 4]).split()))
    if columns_of(line) <= max_columns:
        return line
    room = max_columns - 1
    for place, character in enumerate(line):
        room -= columns_of(character)
        if room < 0:
            return line[:place] + "…"
    return line


def shown_path(path: Path | str, home: Path | None = None) -> str:
    """The whole path; what lies in the home folder begins with `~`."""
    path = Path(path)
    if home is not None and path.is_relative_to(home) and path != home:
        return visible_line(sanitise(f"~/{path.relative_to(home)}"))
    return visible_line(sanitise(str(path)))


def padded(line: str, columns: int) -> str:
    """The line with spaces behind it up to `columns`."""
    return line + " " * max(0, columns - columns_of(line))


def columns_of(line: str) -> int:
    if line.isascii():
        return len(line)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in line
    )

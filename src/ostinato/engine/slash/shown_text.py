"""Names and sentences that others wrote, made fit for one line: every character visible, nothing that drives a terminal."""

from pathlib import Path

from ostinato.codec import sanitise
from ostinato.permissions.explanation import shown


def shown_line(text: str | Path, max_characters: int) -> str:
    """`text` on one line, cut at `max_characters`; line ends become spaces, whatever does not show becomes `\\u…`."""
    line = shown(" ".join(sanitise(str(text)[: max_characters * 2]).split()))
    return line if len(line) <= max_characters else line[: max_characters - 1] + "…"


def shown_path(path: Path, home: Path | None = None) -> str:
    """The whole path; what lies in the home folder begins with `~`."""
    if home is not None and path.is_relative_to(home) and path != home:
        return shown(sanitise(f"~/{path.relative_to(home)}"))
    return shown(sanitise(str(path)))

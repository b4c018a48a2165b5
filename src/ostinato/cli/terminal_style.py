"""The few styles of our own lines. Without colour the text stays as it is."""

from typing import Final

from rich.cells import cell_len, set_cell_size

DIM: Final = "\x1b[2m"
BOLD: Final = "\x1b[1m"
RED: Final = "\x1b[31m"
GREEN: Final = "\x1b[32m"
CYAN: Final = "\x1b[36m"

_RESET: Final = "\x1b[0m"


class Painter:
    """`has_colour` False paints nothing."""

    def __init__(self, *, has_colour: bool) -> None:
        self._has_colour = has_colour

    def __call__(self, style: str, text: str) -> str:
        """The text in a style; a line end stays outside of it."""
        line = text.removesuffix("\n")
        if not self._has_colour or not style or not line:
            return text
        return f"{style}{line}{_RESET}{text[len(line) :]}"


def cut_to(text: str, columns: int) -> str:
    """A line without escape sequences, cut to the columns it may take."""
    if cell_len(text) <= columns:
        return text
    return set_cell_size(text, max(columns - 1, 0)).rstrip() + "…"

"""A strict reader of shell text: every simple command that could run, or the reason why that cannot be told.

Promise: never a missed command and never a wrong word. Outside a provable subset of bash the answer is
`Unprovable`, which the gate turns into a question. Linear in the text, standard library only.
"""

from functools import lru_cache

from ostinato.permissions.shell_command import (
    NotProvableError,
    Proven,
    ShellReading,
    Unprovable,
)
from ostinato.permissions.shell_compound import read_until
from ostinato.permissions.shell_cursor import Cursor, Found
from ostinato.visible_text import is_hidden

MAX_CHARACTERS = 10_000


@lru_cache(maxsize=256)  # one call asks several times: its access, its gate, its rules
def read_command(text: str) -> ShellReading:
    """Every simple command `text` could run under bash, or why that cannot be proven. Never raises."""
    if len(text) > MAX_CHARACTERS:
        return Unprovable(f"it is longer than {MAX_CHARACTERS} characters")
    if (hidden := next((character for character in text if is_hidden(character)), None)) is not None:
        return Unprovable(f"it holds a character that does not show (U+{ord(hidden):04X})")
    found = Found()
    cursor = Cursor(text, depth=-1, found=found, read_inner=read_until)
    try:
        read_until(cursor, "")
    except NotProvableError as refusal:
        return Unprovable(refusal.why)
    return Proven(tuple(found.commands), tuple(found.conditions), found.moves, found.behind_moves)

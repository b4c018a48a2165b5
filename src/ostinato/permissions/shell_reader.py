"""A strict reader of shell text: every simple command that could run, or the reason why that cannot be told.

Promise: never a missed command and never a wrong word. Outside a provable subset of bash the answer is
`Unprovable`, which the gate turns into a question. Linear in the text, standard library only.
"""

import unicodedata
from functools import lru_cache

from ostinato.permissions.shell_command import (
    NotProvableError,
    Proven,
    ShellReading,
    Unprovable,
)
from ostinato.permissions.shell_compound import read_until
from ostinato.permissions.shell_cursor import Cursor, Found

MAX_CHARACTERS = 10_000
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
HIDDEN_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Characters that show nothing although their category is a letter's, a mark's or a symbol's."""
SHOWN = frozenset(" \t\n")


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
    return Proven(tuple(found.commands), tuple(found.conditions))


def is_hidden(character: str) -> bool:
    """Whether a person would not see this character for what it is: controls, odd blanks, bidi, zero width."""
    if character in SHOWN:
        return False
    if " " < character < "\x7f":
        return False
    hidden_selector = "\U000e0100" <= character <= "\U000e01ef"
    return (
        hidden_selector or character in HIDDEN_LETTERS or unicodedata.category(character) in HIDDEN_CATEGORIES
    )

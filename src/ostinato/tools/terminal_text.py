"""Command output as a model should read it: without escape sequences, and of a redrawn line only what it became."""

import re
from typing import Final

ESCAPE_SEQUENCE: Final = re.compile(
    r"""
    \x1b\[ [0-?]* [ -/]* [@-~]            # CSI: colours, cursor
    | \x9b [0-?]* [ -/]* [@-~]            # the same with its 8-bit introducer
    | (?: \x1b[\]PX^_] | [\x9d\x90\x98\x9e\x9f] ) [^\x07\x1b\x9c\n]* (?: \x07 | \x1b\\ | \x9c )?  # OSC, DCS, …
    | \x1b [ -/]* [0-~]                   # two-byte sequences
    """,
    re.VERBOSE,
)
UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def plain_text(output: str) -> str:
    """Text, tabs and line ends only."""
    text = ESCAPE_SEQUENCE.sub("", output)
    return UNPRINTABLE.sub("", "\n".join(_last_state(line) for line in text.split("\n")))


def _last_state(line: str) -> str:
    """What follows the last carriage return: a progress bar's earlier states are gone from a screen too."""
    return line.rstrip("\r").rpartition("\r")[2]

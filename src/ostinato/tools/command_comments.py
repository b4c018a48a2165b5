"""A shell command without what the shell does not read: comments, empty lines, space at the ends.

For comparing commands, never for running one: of what is not sure to be a comment nothing is left out.
"""

import re
from typing import Final

_PIECES: Final = re.compile(
    r"""(?xs)
    \\. | '[^']*' | "(?:\\.|[^"\\])*"               # what is quoted stays as it is
    | (?P<comment> (?:(?<=[\s;&|(])|\A) \#[^\n]* )   # it begins where a word could
    | [^\\'"#]+ | .
    """
)


def without_comments(command: str) -> str:
    """A here-document's lines are read by another program, so there only the space goes."""
    if "#" not in command and "\n" not in command:
        return command.strip()
    if "<<" not in command:
        command = _PIECES.sub(lambda piece: "" if piece["comment"] else piece[0], command)
    return "\n".join(line for line in map(str.rstrip, command.strip().split("\n")) if line)

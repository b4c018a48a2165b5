"""The slash commands as the command line offers them: which there are, and the keys that stand below their list.

What they do is the engine's: a line goes there as it is (`docs/commands.md`).
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ostinato.config.places import find_project_root
from ostinato.engine.slash.command_line import read_command_line
from ostinato.engine.slash.command_list import CommandEntry, list_commands
from ostinato.engine.slash.command_places import CommandPlaces
from ostinato.home_folder import home_of
from ostinato.journal.places import data_root

KEYS: Final = """\
Enter sends; Alt-Enter, or a backslash at the end of the line, starts a new line. What you type while it works waits: Esc sends
it now, Up on an empty line takes the last one back. Ctrl-C stops the work and keeps the conversation; Ctrl-D leaves,
while it works as soon as that is done. A line behind `!` is run as your own command.
"""
"""Said below the list of commands."""


def asks_for_help(line: str) -> bool:
    """Whether the line asks for the list of commands."""
    read = read_command_line(line)
    return read is not None and read.name.casefold() == "help" and not read.arguments


def known_commands(cwd: Path, environment: Mapping[str, str] = os.environ) -> tuple[CommandEntry, ...]:
    """Every command that would answer in this folder, the built-in ones first. Blocking: it reads the command files."""
    home = home_of(environment)
    return list_commands(CommandPlaces(find_project_root(cwd, home), data_root(environment), home))

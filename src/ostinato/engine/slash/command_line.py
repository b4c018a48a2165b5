"""Whom a prompt is for. A command is a slash, a name, then nothing or white space; a shell line begins with `!`; everything else
is for the model.

`/etc/hosts is wrong` and `/* a comment */` are no commands, and a space before the slash sends any line to the model.
"""

import re
from typing import Final

import msgspec

from ostinato.records import PromptMode

MAX_NAME_CHARACTERS: Final = 100
_COMMAND: Final = re.compile(r"/(?P<name>[^\W\d_][\w.:-]*)(?:\s+(?P<arguments>.*))?", re.DOTALL)


class CommandLine(msgspec.Struct, frozen=True):
    """`arguments` is everything behind the name, without the white space around it, else as it was typed."""

    name: str
    arguments: str = ""


def read_command_line(prompt: str) -> CommandLine | None:
    """None: the prompt is for the model."""
    found = _COMMAND.fullmatch(prompt)
    if found is None or len(found["name"]) > MAX_NAME_CHARACTERS:
        return None
    return CommandLine(found["name"], (found["arguments"] or "").strip())


def prompt_mode(prompt: str, *, runs_shell_lines: bool = False) -> PromptMode:
    """What the prompt is. Where no shell lines are run, a `!` is part of the text."""
    if runs_shell_lines and prompt.startswith("!"):
        return "shell"
    return "prompt" if read_command_line(prompt) is None else "command"

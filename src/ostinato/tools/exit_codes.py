"""What an exit code says: for a search or a comparison 1 is an answer, not a failure."""

import shlex
import signal
from typing import Final

ANSWERING_WITH_1: Final = frozenset({
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "find",
    "diff",
    "cmp",
    "test",
    "[",
    "[[",
    "git diff",
    "git grep",
})
"""Commands whose 1 means "no" or "different" (semantics reference, Bash numbers)."""

OPERATORS: Final = "();<>|&\n"


def is_benign(command: str, exit_code: int | None) -> bool:
    """Whether the code is an answer of the command that most likely gave it: the last one."""
    return exit_code == 1 and _last_command(command) in ANSWERING_WITH_1


def describe_exit(command: str, exit_code: int | None) -> str:
    """A few words for a code other than 0."""
    if exit_code is None:
        return "killed"
    if exit_code < 0:
        return f"killed by {_signal_name(-exit_code)}"
    if is_benign(command, exit_code):
        return f"exit code 1: for `{_last_command(command)}` that means no match, different, or false"
    if exit_code > 128 and _signal_name(exit_code - 128).startswith("SIG"):
        return f"exit code {exit_code}: killed by {_signal_name(exit_code - 128)}"
    return f"exit code {exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_command(command: str) -> str:
    """Name of the last simple command, `git` with its subcommand; empty if the text is not understood."""
    lexer = shlex.shlex(command.strip(), posix=True, punctuation_chars=OPERATORS)
    lexer.whitespace, lexer.commenters = " \t\r", ""
    words: list[str] = []
    is_ended = False
    try:
        for token in lexer:
            if set(token) <= set(OPERATORS) - set("<>"):
                is_ended = True
            else:
                words = [token] if is_ended else [*words, token]
                is_ended = False
    except ValueError:
        return ""
    words = [word for word in words if not _is_assignment(word)]
    return " ".join(words[:2]) if words[:1] == ["git"] else "".join(words[:1])


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return equals != "" and name.isidentifier()

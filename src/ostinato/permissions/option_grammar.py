"""The options a program may get and still be known to do what its table says; an unknown option is no answer.

Abbreviated long options are unknown on purpose: what they stand for depends on the program's version.
"""

import re
from typing import Literal

import msgspec

from ostinato.permissions.name_set import names
from ostinato.permissions.shell_command import SimpleCommand

LOOKS_LIKE_OPTION = re.compile(r"-[^0-9]")
OperandKind = Literal["paths", "text", "pattern_then_paths", "none"]


class Form(msgspec.Struct, frozen=True):
    """What a program accepts. `short_value` and `long_value` take a value; `=value` is accepted on any long name.

    `has_numeric`: `-20` is an option. `max_operands`: more are refused. `pattern_options` name the options that
    give the pattern, so that the first operand is a path. `is_harmless`: no option of the program writes or
    runs anything, so that a wildcard may expand to what looks like an option.
    """

    short: str = ""
    short_value: str = ""
    long: frozenset[str] = frozenset()
    long_value: frozenset[str] = frozenset()
    operands: OperandKind = "paths"
    max_operands: int = 10_000
    has_numeric: bool = False
    is_harmless: bool = False
    pattern_options: frozenset[str] = frozenset()


class Arguments(msgspec.Struct, frozen=True):
    """A command line taken apart: the options as (name without dashes, value or None) and the operands."""

    options: tuple[tuple[str, str | None], ...]
    operands: tuple[str, ...]

    def option_names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.options)


def form(short: str = "", short_value: str = "", long: str = "", long_value: str = "") -> Form:
    """A form from lines of text, as the tables write them."""
    return Form(short, short_value, names(long), names(long_value))


def parse_arguments(form: Form, words: tuple[str | None, ...], globs: frozenset[int]) -> Arguments | None:
    """Take `words` (without the program) apart, or None if any of them is unknown or not static.

    `globs` are the indexes of words that are wildcard patterns.
    """
    options: list[tuple[str, str | None]] = []
    operands: list[str] = []
    index, is_over = 0, False
    while index < len(words):
        word = words[index]
        is_glob = index in globs
        index += 1
        if word is None or (is_glob and not _is_safe_glob(word, is_over=is_over, form=form)):
            return None
        if is_over or is_glob or word == "-" or not word.startswith("-"):
            operands.append(word)
        elif word == "--":
            is_over = True
        else:
            found, takes_next = _read_option(form, word)
            if found is None:
                return None
            if takes_next:
                value = words[index] if index < len(words) and index not in globs else None
                # A value that looks like an option is one to a program that takes its values only behind `=`.
                if value is None or LOOKS_LIKE_OPTION.match(value):
                    return None
                found[-1] = (found[-1][0], value)
                index += 1
            options.extend(found)
    return Arguments(tuple(options), tuple(operands)) if len(operands) <= form.max_operands else None


def parse_command(form: Form, command: SimpleCommand) -> Arguments | None:
    """The arguments of `command` under `form`, wildcard patterns standing for the words they expand to."""
    globs = frozenset(index - 1 for index, _ in command.globs)
    return parse_arguments(form, command.words()[1:], globs)


def _is_safe_glob(pattern: str, *, is_over: bool, form: Form) -> bool:
    # `*` may expand to a file that is called `--output=x`; `./*` and `src/*` cannot.
    return is_over or (not pattern.startswith("-") and (form.is_harmless or pattern[0] not in "*?["))


def _read_option(form: Form, word: str) -> tuple[list[tuple[str, str | None]] | None, bool]:
    """(options in the word or None if unknown, whether the last one takes the next word as its value)."""
    if word.startswith("--"):
        name, has_value, value = word[2:].partition("=")
        if name not in form.long and name not in form.long_value:
            return None, False
        return [(name, value if has_value else None)], name in form.long_value and not has_value
    if form.has_numeric and word[1:].isdecimal():
        return [("number", word[1:])], False
    found: list[tuple[str, str | None]] = []
    for position, letter in enumerate(word[1:], start=2):
        if letter in form.short_value:
            rest = word[position:]
            found.append((letter, rest or None))
            return found, not rest
        if letter not in form.short:
            return None, False
        found.append((letter, None))
    return found, False

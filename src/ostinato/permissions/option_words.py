"""Finds given options among the words of a program that is not read in full: clusters, abbreviations, values behind `=` or a blank.

Promise: a superset. A word that may be such an option is found; a word that only looks like one may be found too.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

Words = tuple[str | None, ...]
GIT_VALUE_OPTIONS = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"})


class Options(msgspec.Struct, frozen=True):
    """Letters, long names (abbreviated or not, but for the names in `others`), and whole words such as `-fprint`.

    `valued`: other letters that take the rest of their word as a value.
    """

    letters: str = ""
    long: frozenset[str] = frozenset()
    valued: str = ""
    words: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


def found_options(options: Options, words: Words) -> Iterator[tuple[str, str | None]]:
    """(the word, its value) of each option that is there; the value is None where it is not static or missing."""
    for index, word in enumerate(words):
        if word == "--":
            return
        if word is None or not word.startswith("-"):
            continue
        following = words[index + 1] if index + 1 < len(words) else None
        value = _value(options, word, following)
        if value is not False:
            yield word, value


def _value(options: Options, word: str, following: str | None) -> str | Literal[False] | None:
    name, sign, value = word.partition("=")
    if name in options.words:
        return value if sign else following
    if word.startswith("--"):
        name = name[2:]
        is_meant = name not in options.others and any(long.startswith(name) for long in options.long)
        return (value if sign else following) if is_meant else False
    for position, letter in enumerate(word[1:], start=2):
        if letter in options.letters:
            return word[position:] or following
        if letter in options.valued:
            return False
    return False


def operands(words: Words) -> Words:
    """Words that are no options; the values of options are among them."""
    if "--" in words:
        end = words.index("--")
        return operands(words[:end]) + words[end + 1 :]
    return tuple(word for word in words if word is None or not word.startswith("-") or word == "-")


def git_parts(words: Words) -> tuple[Words, str, Words]:
    """What stands before git's subcommand, the subcommand ("" if it is not static), and what stands behind it."""
    index = 0
    while index < len(words) and (word := words[index]) is not None and word.startswith("-"):
        index += 2 if word in GIT_VALUE_OPTIONS else 1
    subcommand = words[index] if index < len(words) else ""
    return words[:index], subcommand or "", words[index + 1 :]

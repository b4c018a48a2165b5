"""The text of a command cut into what it consists of: plain text, places for arguments, and shell lines.

Cut once, before anything is put in: what a person types or a program prints is never read as a place or a shell line.
"""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

_PLACE: Final = re.compile(r"(?<!\\)\$(?:ARGUMENTS\b(?P<index>\[\d{1,3}\])?|(?P<number>[1-9])(?!\d))")
"""A backslash before it makes it plain text."""

_PART: Final = re.compile(rf"(?<![^\s(\[>|])!`(?P<shell>[^`\n]+)`|{_PLACE.pattern}")


class Plain(msgspec.Struct, frozen=True):
    text: str


class Place(msgspec.Struct, frozen=True):
    """Where arguments go: the one with this number, counted from 1; None: all of them as they were typed."""

    number: int | None = None


class ShellLine(msgspec.Struct, frozen=True):
    """A command whose output goes here; its parts may hold places, never shell lines."""

    parts: tuple[Plain | Place, ...]


Part: TypeAlias = Plain | Place | ShellLine


def read_template(body: str) -> tuple[Part, ...]:
    """The parts in order; put together with nothing put in they are the body again."""
    parts, start = list[Part](), 0
    for found in _PART.finditer(body):
        if found.start() > start:
            parts.append(Plain(body[start : found.start()]))
        shell = found["shell"]
        parts.append(_place(found) if shell is None else ShellLine(_in_shell(shell)))
        start = found.end()
    if start < len(body):
        parts.append(Plain(body[start:]))
    return tuple(parts)


def takes_arguments(parts: Sequence[Part]) -> bool:
    """Whether the arguments go anywhere."""
    return any(
        isinstance(part, Place) or (isinstance(part, ShellLine) and takes_arguments(part.parts))
        for part in parts
    )


def _in_shell(text: str) -> tuple[Plain | Place, ...]:
    parts, start = list[Plain | Place](), 0
    for found in _PLACE.finditer(text):
        if found.start() > start:
            parts.append(Plain(text[start : found.start()]))
        parts.append(_place(found))
        start = found.end()
    if start < len(text):
        parts.append(Plain(text[start:]))
    return tuple(parts)


def _place(found: re.Match[str]) -> Place:
    if found["number"] is not None:
        return Place(int(found["number"]))
    if found["index"] is not None:
        return Place(int(found["index"][1:-1]) + 1)
    return Place()

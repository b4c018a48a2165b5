"""The arguments of a command: as typed, and as words; put into text verbatim, and into shell lines as data."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, assert_never

import msgspec

from ostinato.engine.slash.template import Place, Plain

MAX_QUOTED_CHARACTERS: Final = 10_000
_HARMLESS: Final = re.compile(r"[\w./:@%+=,-]+")
"""No shell reads such a word as anything but itself, in quotes or not."""

_IN_DOUBLE_QUOTES: Final = re.compile(r"[\\\"$`]")
_UNCLEAR: Final = re.compile(r"`|\$[({'\"]|<<|(?:^|\s)#")

Quotes: TypeAlias = Literal["none", "double", "single", "unclear"]
_QUOTES: Final[Mapping[str, Quotes]] = {"": "none", '"': "double", "'": "single"}


class Arguments(msgspec.Struct, frozen=True):
    """`raw` is what was typed; `words` is that cut as a shell would, or at white space if the quotes do not close."""

    raw: str = ""
    words: tuple[str, ...] = ()


class Unsafe(msgspec.Struct, frozen=True):
    """The argument could act in the shell line instead of being data there."""

    argument: str


def read_arguments(raw: str) -> Arguments:
    """A long text is no list of words in quotes, and cutting it as one would take seconds."""
    if len(raw) > MAX_QUOTED_CHARACTERS:
        return Arguments(raw, tuple(raw.split()))
    try:
        words = shlex.split(raw)
    except ValueError:
        words = raw.split()
    return Arguments(raw, tuple(words))


def in_text(place: Place, arguments: Arguments) -> str:
    """What stands at the place: verbatim, empty where there is no such argument."""
    if place.number is None:
        return arguments.raw
    return "".join(arguments.words[place.number - 1 : place.number])


def in_shell(parts: Sequence[Plain | Place], arguments: Arguments) -> str | Unsafe:
    """The shell line with each argument quoted for where it stands, so that none of it is run or expanded."""
    line = ""
    for part in parts:
        if isinstance(part, Plain):
            line += part.text
            continue
        wanted = arguments.words if part.number is None else arguments.words[part.number - 1 : part.number]
        if all(_HARMLESS.fullmatch(word) for word in wanted):
            line += " ".join(wanted)
            continue
        put = _quoted(in_text(part, arguments), wanted, _quotes_at_end(line))
        if put is None:
            return Unsafe(in_text(part, arguments))
        line += put
    return line


def _quoted(text: str, words: Sequence[str], quotes: Quotes) -> str | None:
    match quotes:
        case "none":
            return shlex.join(words)
        case "double":
            return _IN_DOUBLE_QUOTES.sub(lambda found: "\\" + found[0], text)
        case "single":
            return text.replace("'", "'\\''")
        case "unclear":
            return None
        case _:
            assert_never(quotes)


def _quotes_at_end(line: str) -> Quotes:
    """In which quotes the end of a shell text stands; unclear as soon as it holds what nests or is no plain text."""
    if _UNCLEAR.search(line):
        return "unclear"
    quotes, is_escaped = "", False
    for character in line:
        if is_escaped:
            is_escaped = False
        elif character == "\\" and quotes != "'":
            is_escaped = True
        elif character in {quotes, *("\"'" if not quotes else "")}:
            quotes = "" if quotes else character
    return "unclear" if is_escaped else _QUOTES[quotes]

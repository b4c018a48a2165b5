"""Glob patterns over relative paths, matched here and not by ripgrep: its `--glob` would bring ignored files back.

`*` and `?` stay inside a folder, `**` crosses folders, `[a-z]` and `{a,b}` choose. A pattern without a slash matches a
name in every folder.
"""

import re
from typing import Final

import msgspec

SPECIAL: Final = frozenset("*?[{\\")


class FilePattern(msgspec.Struct, frozen=True):
    """`folder` is where to search (may be empty, `..` or absolute); `regex` matches paths relative to it.

    `name_glob` restricts names in ripgrep's own syntax, so that it searches little more than needed; None if the
    pattern gives no such restriction.
    """

    folder: str
    regex: re.Pattern[str]
    name_glob: str | None
    is_negated: bool = False

    def matches(self, path: str, *, start: int = 0) -> bool:
        """Of a longer path, what is from `start` on."""
        return (self.regex.fullmatch(path, start) is not None) != self.is_negated


def parse_pattern(pattern: str) -> FilePattern:
    """Raises ValueError, saying what is wrong, for a pattern with an open bracket or brace."""
    is_negated = pattern.startswith("!")
    rest = pattern.removeprefix("!") if is_negated else pattern
    if len(split_outside_braces(rest, ",")) > 1:
        rest = "{" + rest + "}"
    if rest.endswith("/"):
        rest += "**"
    if "/" not in rest:
        return FilePattern("", _compiled(f"**/{rest}"), None if is_negated else _name_glob(rest), is_negated)
    if is_negated:
        return FilePattern("", _compiled(rest.lstrip("/")), None, is_negated=True)
    return _anchored(split_outside_braces(rest, "/"))


def _anchored(components: list[str]) -> FilePattern:
    plain = 0
    while plain < len(components) - 1 and not SPECIAL & set(components[plain]):
        plain += 1
    folder = "/".join(components[:plain])
    if plain and components[:plain] == [""]:
        folder = "/"
    rest = components[plain:]
    return FilePattern(folder, _compiled("/".join(rest)), _name_glob(rest[-1]))


def _name_glob(name: str) -> str | None:
    """The last component, if it says something about a file's own name; a colon has a meaning of its own for ripgrep."""
    return None if "**" in name or "/" in name or ":" in name else name


def split_outside_braces(text: str, separator: str) -> list[str]:
    """`text` cut at each `separator` that is neither in braces or brackets nor escaped."""
    parts, depth, in_class, i, start = list[str](), 0, False, 0, 0
    while i < len(text):
        character = text[i]
        if character == "\\":
            i += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = "]" in text[i + 2 :]
        elif character in "{}":
            depth += 1 if character == "{" else -1
        elif character == separator and depth <= 0:
            parts.append(text[start:i])
            start = i + 1
        i += 1
    return [*parts, text[start:]]


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_Translation(pattern).regex(), re.DOTALL)
    except re.error as error:
        raise ValueError(f"`{pattern}`: {error}") from error


class _Translation:
    """A cursor over a glob pattern that becomes a regular expression."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def regex(self) -> str:
        text = self._sequence()
        if self._at < len(self._pattern):
            raise ValueError(f"`{self._pattern}` has a `}}` without its `{{`")
        return text

    def _sequence(self, *, in_braces: bool = False) -> str:
        parts: list[str] = []
        while self._at < len(self._pattern):
            character = self._pattern[self._at]
            if character == "}" or (in_braces and character == ","):
                break
            parts.append(self._part(character))
        return "".join(parts)

    def _part(self, character: str) -> str:
        match character:
            case "*":
                return self._stars()
            case "?":
                self._at += 1
                return "[^/]"
            case "[":
                return self._class()
            case "{":
                return self._choice()
            case "\\" if self._at + 1 < len(self._pattern):
                self._at += 2
                return re.escape(self._pattern[self._at - 1])
            case _:
                self._at += 1
                return re.escape(character)

    def _stars(self) -> str:
        start = self._at
        while self._pattern[self._at : self._at + 1] == "*":
            self._at += 1
        is_component = start == 0 or self._pattern[start - 1] in "/{,"
        following = self._pattern[self._at : self._at + 1]
        if self._at - start == 1 or not is_component or following not in {"", "/", ",", "}"}:
            return "[^/]*"
        if following == "/":
            self._at += 1
            return "(?:[^/]+/)*"
        return ".+"

    def _class(self) -> str:
        negation = self._pattern[self._at + 1 : self._at + 2] in {"!", "^"}
        end = self._pattern.find("]", self._at + 2 + negation)
        if end < 0:
            raise ValueError(f"`{self._pattern}` has a `[` without its `]`")
        body = self._pattern[self._at + 1 : end]
        self._at = end + 1
        escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", body[negation:])
        return f"(?!/)[{'^' if negation else ''}{escaped}]"

    def _choice(self) -> str:
        self._at += 1
        choices = [self._sequence(in_braces=True)]
        while self._pattern[self._at : self._at + 1] == ",":
            self._at += 1
            choices.append(self._sequence(in_braces=True))
        if self._pattern[self._at : self._at + 1] != "}":
            raise ValueError(f"`{self._pattern}` has a `{{` without its `}}`")
        self._at += 1
        return f"(?:{'|'.join(choices)})"

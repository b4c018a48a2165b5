"""Glob patterns over relative paths, matched here and not by ripgrep: its `--glob` would bring ignored files back.

`*` and `?` stay inside a folder, `**` crosses folders, `[a-z]` and `{a,b}` choose. A pattern without a slash matches a
name in every folder.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

SPECIAL: Final = frozenset("*?[{\\")
UNLIKE: Final = frozenset("?[]{},\\:!^")
"""What is, or in some place would be, something else to ripgrep."""

MAX_NAME_GLOBS: Final = 64
MAX_ALTERNATIVES: Final = 256
"""What the braces of one pattern may multiply to."""


class FilePattern(msgspec.Struct, frozen=True):
    """`folder` is where to search (may be empty, `..` or absolute); `regex` matches paths relative to it.

    `name_globs` restrict names in ripgrep's own syntax, so that it searches little more than needed: whatever fits the pattern fits
    one of them. There are none where the pattern gives no such restriction.
    """

    folder: str
    regex: re.Pattern[str]
    name_globs: tuple[str, ...]
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
        return FilePattern("", _compiled(f"**/{rest}"), () if is_negated else _name_globs(rest), is_negated)
    if is_negated:
        return FilePattern("", _compiled(rest.lstrip("/")), (), is_negated=True)
    return _anchored(split_outside_braces(rest, "/"))


def _anchored(components: list[str]) -> FilePattern:
    plain = 0
    while plain < len(components) - 1 and not SPECIAL & set(components[plain]):
        plain += 1
    folder = "/".join(components[:plain])
    if plain and components[:plain] == [""]:
        folder = "/"
    rest = components[plain:]
    return FilePattern(folder, _compiled("/".join(rest)), _name_globs(rest[-1]))


def _name_globs(name: str) -> tuple[str, ...]:
    """For the last component, if it says something about a file's own name.

    Only `*` and plain letters mean the same to ripgrep as here: to it `?` is one byte, and `{a,}` is `a` alone.
    """
    if "/" in name:
        return ()
    globs = {re.sub(r"\*+", "*", "".join(_wider(one))) for one in _without_braces(name)} - {""}
    return () if "*" in globs or len(globs) > MAX_NAME_GLOBS else tuple(sorted(globs))


def _wider(name: str) -> Iterator[str]:
    for place, _ in _plain_characters(name):
        piece = name[place : _next_place(name, place)]
        yield piece if len(piece) == 1 and piece not in UNLIKE else "*"


def split_outside_braces(text: str, separator: str) -> list[str]:
    """`text` cut at each `separator` that is neither in braces or brackets nor escaped."""
    parts, depth, start = list[str](), 0, 0
    for place, character in _plain_characters(text):
        if character in {"{", "}"}:
            depth += 1 if character == "{" else -1
        elif character == separator and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _compiled(pattern: str) -> re.Pattern[str]:
    """Never goes back over what a star took but for the last of a name, so that no pattern and no path take long."""
    try:
        return re.compile("|".join(map(_path_regex, _without_braces(pattern))), re.DOTALL)
    except re.error as error:
        raise ValueError(f"`{pattern}`: {error}") from error


def _without_braces(pattern: str) -> list[str]:
    """The patterns that the braces stand for."""
    pending, done = [pattern], list[str]()
    while pending:
        current = pending.pop()
        start, end, choices = _first_braces(current)
        if not choices:
            done.append(current)
        pending += [f"{current[:start]}{choice}{current[end:]}" for choice in reversed(choices)]
        if len(pending) + len(done) > MAX_ALTERNATIVES:
            raise ValueError(f"the braces of `{pattern}` stand for more than {MAX_ALTERNATIVES} patterns")
    return done


def _first_braces(pattern: str) -> tuple[int, int, list[str]]:
    """Where the first outermost braces begin and end, and what stands between their commas; nothing if there are none."""
    depth, start = 0, 0
    for place, character in _plain_characters(pattern):
        if character == "{":
            start = start if depth else place
            depth += 1
        elif character == "}":
            depth -= 1
            if depth < 0:
                raise ValueError(f"`{pattern}` has a `}}` without its `{{`")
            if depth == 0:
                return start, place + 1, split_outside_braces(pattern[start + 1 : place], ",")
    if depth:
        raise ValueError(f"`{pattern}` has a `{{` without its `}}`")
    return 0, 0, []


def _plain_characters(pattern: str) -> Iterator[tuple[int, str]]:
    """Those that are neither escaped nor in a class, and where they stand."""
    place = 0
    while place < len(pattern):
        yield place, pattern[place]
        place = _next_place(pattern, place)


def _next_place(pattern: str, place: int) -> int:
    """Behind the character, the escaped character or the class that stands there."""
    match pattern[place]:
        case "\\" if place + 1 < len(pattern):
            return place + 2
        case "[":
            first = place + 1 + (pattern[place + 1 : place + 2] in {"!", "^"})
            end = pattern.find("]", first + 1)
            return place + 1 if end < 0 else end + 1
        case _:
            return place + 1


def _path_regex(pattern: str) -> str:
    """Of a pattern without braces. Between two `**` the first fitting place is as good as any later one: it is kept."""
    *above, name = split_outside_braces(pattern, "/")
    parts = ["", ""]  # what is settled, and the folders since the last `**`
    is_free = False
    for folder in above:
        if set(folder) != {"*"} or len(folder) == 1:
            parts[1] += _name_regex(folder) + "/"
        else:
            parts[0] += _anywhere(parts[1], is_free=is_free)
            parts[1], is_free = "", True
    if set(name) == {"*"} and len(name) > 1:
        return parts[0] + _anywhere(parts[1], is_free=is_free) + ".+"
    return parts[0] + ("(?:[^/]+/)*?" if is_free else "") + parts[1] + _name_regex(name)


def _anywhere(folders: str, *, is_free: bool) -> str:
    return f"(?>(?:[^/]+/)*?{folders})" if is_free and folders else folders


def _name_regex(name: str) -> str:
    """Of one part of a path. Between two stars the first fitting place is as good as any later one."""
    pieces, place, begun = list[str](), 0, 0
    for place, character in _plain_characters(name):
        if character == "*":
            pieces.append(name[begun:place])
            begun = place + 1
    first, *rest = map(_fixed_regex, [*pieces, name[begun:]])
    between = "".join(f"(?>[^/]*?{piece})" for piece in rest[:-1] if piece)
    return first + between + (f"[^/]*{rest[-1]}" if rest else "")


def _fixed_regex(piece: str) -> str:
    return "".join(
        _character_regex(piece[place : _next_place(piece, place)], piece)
        for place, _ in _plain_characters(piece)
    )


def _character_regex(character: str, pattern: str) -> str:
    match character[0]:
        case "?":
            return "[^/]"
        case "[" if len(character) == 1:
            raise ValueError(f"`{pattern}` has a `[` without its `]`")
        case "[":
            negation = character[1] in {"!", "^"}
            body = re.sub(r"([\\\[\]^&~|])", r"\\\1", character[1 + negation : -1])
            return f"(?!/)[{'^' if negation else ''}{body}]"
        case _:
            return re.escape(character[-1])

"""Which files a rule's `paths:` mean: glob patterns over `/`-parted paths, matched in bounded time whatever they say.

`*`, `?` and `[a-z]` stay inside a folder, `**` crosses folders, `{a,b}` chooses. A pattern is anchored at the rule's base:
`*.md` means the Markdown files there and not deeper. A pattern whose last part is a plain name means the folder of that
name too. Part by part and without backtracking, because patterns come from whoever wrote the project.
"""

import fnmatch
import re
from collections.abc import Sequence
from typing import Final

MAX_ALTERNATIVES: Final = 256
"""What the braces of one pattern may multiply to; what is beyond is not matched."""

MAX_PATTERN_CHARACTERS: Final = 1000
WILDCARD: Final = re.compile(r"[*?\[]")
BRACES: Final = re.compile(r"\{([^{}]*)\}")


class PathPatterns:
    """Some patterns, made ready once. `matches` is true if any of them matches."""

    def __init__(self, patterns: Sequence[str], *, at_any_depth: bool = False) -> None:
        self._compiled = [
            _compiled(alternative, at_any_depth=at_any_depth)
            for pattern in patterns
            if len(pattern) <= MAX_PATTERN_CHARACTERS
            for alternative in _alternatives(pattern)
        ]

    def matches(self, path: str) -> bool:
        """Whether the relative (or, for patterns with a leading slash, absolute) path is meant."""
        parts = [part for part in path.split("/") if part]
        return any(_matches(pattern, parts) for pattern in self._compiled)


def _alternatives(pattern: str) -> list[str]:
    """The pattern without braces, innermost first; a brace without its partner is an ordinary character."""
    pending, done = [pattern], list[str]()
    while pending and len(pending) + len(done) <= MAX_ALTERNATIVES:
        current = pending.pop()
        found = BRACES.search(current)
        if found is None:
            done.append(current)
        else:
            before, after = current[: found.start()], current[found.end() :]
            pending.extend(f"{before}{choice}{after}" for choice in found[1].split(","))
    return done


def _compiled(pattern: str, *, at_any_depth: bool) -> list[re.Pattern[str] | None]:
    """One entry for each part; None stands for `**`."""
    parts = [part for part in pattern.removeprefix("./").split("/") if part]
    if pattern.endswith("/") or (parts and not WILDCARD.search(parts[-1])):
        parts.append("**")
    if at_any_depth and not pattern.startswith("/"):
        parts.insert(0, "**")
    return [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]


def _matches(pattern: Sequence[re.Pattern[str] | None], parts: Sequence[str]) -> bool:
    """The usual walk with one place to return to: at most the product of both lengths in steps."""
    at, place, star, star_place = 0, 0, -1, 0
    while place < len(parts):
        part = pattern[at] if at < len(pattern) else False
        if part is None:
            star, star_place, at = at, place, at + 1
        elif part is not False and part.match(parts[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            star_place += 1
            at, place = star + 1, star_place
        else:
            return False
    return all(part is None for part in pattern[at:])

"""Wildcards of rules: `*` over text, and gitignore-like patterns over paths. Linear enough that no rule can stall."""

from fnmatch import fnmatchcase

Parts = tuple[str, ...]


def text_matches(pattern: str, text: str) -> bool:
    """Whether `text` as a whole fits `pattern`, in which only `*` is special (any characters, blanks and newlines too).

    Greedy with one way back, so the time is at most len(pattern) * len(text).
    """
    pieces = pattern.split("*")
    if len(pieces) == 1:
        return pattern == text
    if not text.startswith(pieces[0]) or len(text) < len(pieces[0]) + len(pieces[-1]):
        return False
    position, end = len(pieces[0]), len(text) - len(pieces[-1])
    if not text.endswith(pieces[-1]):
        return False
    for piece in pieces[1:-1]:
        found = text.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True


def path_matches(pattern: Parts, path: Parts) -> bool:
    """Whether the parts of a path fit, or lie under a folder that fits; `**` stands for any number of parts."""
    reached = _over_stars(pattern, {0})
    for part in path:
        if len(pattern) in reached:
            return True
        moved = {
            index if pattern[index] == "**" else index + 1 for index in reached if _fits(pattern[index], part)
        }
        reached = _over_stars(pattern, moved)
    return len(pattern) in reached


def path_may_match(pattern: Parts, folder: Parts) -> bool:
    """Whether the parts of a folder fit, or something below it could."""
    reached = _over_stars(pattern, {0})
    for part in folder:
        if len(pattern) in reached:
            return True
        reached = _over_stars(
            pattern,
            {
                index if pattern[index] == "**" else index + 1
                for index in reached
                if _fits(pattern[index], part)
            },
        )
    return bool(reached)


def _fits(piece: str, part: str) -> bool:
    return piece == "**" or fnmatchcase(part, piece)


def _over_stars(pattern: Parts, reached: set[int]) -> set[int]:
    found = set(reached)
    for index in range(len(pattern)):
        if index in found and pattern[index] == "**":
            found.add(index + 1)
    return found

"""What an `@` in a prompt may mean: candidates only, since an address and a decorator look alike until a file is found."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

MAX_CANDIDATES: Final = 200
"""Different `@…` words of one prompt that are looked up; pasted text may hold thousands."""

MAX_NAME_CHARACTERS: Final = 4096
MENTION: Final = re.compile(
    r"(?<![^\s(\[{<,;:'\"])@(?:\"(?P<quoted>[^\"\n]+)\"(?P<range>#L[\dL-]+)?|(?P<plain>[^\s\"]+))"
)
RANGE: Final = re.compile(r"(?P<name>.+)(?:#L|:)(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?")
"""`#L2-3`, and `:2-3` as compilers write it."""
CLOSING: Final = ".,;:!?)]}>'`"


class Mention(msgspec.Struct, frozen=True):
    """One reading of a mention: a name, and lines counted from 1 if a range was given."""

    name: str
    first: int | None = None
    last: int | None = None


def mentions(prompt: str) -> Iterator[tuple[Mention, ...]]:
    """For each different mention its readings, the likeliest first: as it stands, with a range, without closing marks."""
    seen: dict[str, None] = {}
    for found in MENTION.finditer(prompt):
        seen[found[0]] = None
        if len(seen) >= MAX_CANDIDATES:
            break
    for whole in seen:
        readings = _readings(whole)
        if readings:
            yield readings


def _readings(whole: str) -> tuple[Mention, ...]:
    found = MENTION.fullmatch(whole)
    if found is None:
        return ()
    if found["quoted"]:
        plain = Mention(found["quoted"])
        ranged = _ranged(found["quoted"] + (found["range"] or ""))
        return (ranged,) if found["range"] and ranged else tuple(filter(None, (plain, ranged)))
    word = found["plain"]
    trimmed = word.rstrip(CLOSING)
    readings = [Mention(word), _ranged(word), Mention(trimmed) if trimmed else None, _ranged(trimmed)]
    return tuple(
        dict.fromkeys(one for one in readings if one is not None and len(one.name) <= MAX_NAME_CHARACTERS)
    )


def _ranged(word: str) -> Mention | None:
    found = RANGE.fullmatch(word)
    if found is None:
        return None
    first = max(1, int(found["first"]))
    return Mention(found["name"], first, max(first, int(found["last"] or first)))

"""The names that a misspelled one may have meant."""

from collections.abc import Iterable
from typing import Final

MAX_NAMES: Final = 3
_CUTOFF: Final = 0.6


def near_names(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """At most three, the nearest first; what begins with the name counts as near, however long it is."""
    import difflib  # ruff: ignore[import-outside-top-level] - only a misspelled name needs it

    names = sorted(set(known))
    folded = {one.casefold(): one for one in reversed(names)}
    near = [folded[one] for one in difflib.get_close_matches(name.casefold(), folded, MAX_NAMES, _CUTOFF)]
    longer = [one for one in names if len(name) > 1 and one.casefold().startswith(name.casefold())]
    return tuple(dict.fromkeys([*near, *longer]))[:MAX_NAMES]


def did_you_mean(names: Iterable[str]) -> str:
    """A question with the names, or nothing if there are none."""
    quoted = [f"`{name}`" for name in names]
    return f"did you mean {' or '.join(quoted)}?" if quoted else ""

"""Names that every provider takes: legal ones stay, others are mapped to one of their own, always the same.

`[a-zA-Z0-9_-]{1,64}` is what all wires have in common. No name is given twice, and none depends on the order of those beside it.
"""

import re
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import Final

from ostinato.invariants import TOOL_NAME

MAX_CHARACTERS: Final = 64
HASH_CHARACTERS: Final = 8
ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_-]+")


def fitting_names(names: Sequence[str], taken: Collection[str] = ()) -> tuple[str, ...]:
    """For each name one that can be sent, in their order, all different and none of `taken`.

    A legal name keeps itself where it stands first; a changed one ends in a hash of what it was, so that names that begin
    alike or differ in illegal characters only stay apart. `dict(zip(fitting_names(names), names))` leads back.
    """
    used = set(taken)
    kept = {name for name in names if TOOL_NAME.fullmatch(name) and name not in used}
    used |= kept
    fitting: list[str] = []
    for name in names:
        if name in kept:
            kept.remove(name)
            fitting.append(name)
        else:
            fitting.append(_own_name(name, used))
            used.add(fitting[-1])
    return tuple(fitting)


def _own_name(name: str, used: Collection[str]) -> str:
    stem = ILLEGAL.sub("_", name)[: MAX_CHARACTERS - HASH_CHARACTERS - 1].strip("_") or "tool"
    number = 0
    while True:
        seed = f"{name}\0{number}" if number else name
        mark = sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_CHARACTERS]
        fitting = f"{stem}_{mark}"
        if fitting not in used:
            return fitting
        number += 1

"""How much of what could be tried is tried. The usual run takes a spread choice of what is many; `OSTINATO_EXHAUSTIVE=1` takes all."""

import os
from collections.abc import Sequence
from typing import Final, TypeVar

IS_EXHAUSTIVE: Final = os.environ.get("OSTINATO_EXHAUSTIVE", "") == "1"

T = TypeVar("T")


def spread(items: Sequence[T], at_most: int, *, phase: int = 0) -> Sequence[T]:
    """At most that many, evenly spread, the first and the last among them. Phases choose different ones in between."""
    if IS_EXHAUSTIVE or len(items) <= at_most:
        return items
    last, gaps = len(items) - 1, at_most - 1
    places = {
        min(last, number * last // gaps + (phase if 0 < number < gaps else 0)) for number in range(at_most)
    }
    return [items[place] for place in sorted(places)]


def usually(few: int, *, all_of: int) -> int:
    """How many random cases there are: few, or all of them if everything is to be tried."""
    return all_of if IS_EXHAUSTIVE else few

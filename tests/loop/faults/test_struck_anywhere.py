"""Every touch of the outside, in every scenario, fails once, aborts once and loses its consumer once: the promises hold.

Of long scenarios the usual run strikes at a choice of touches, `OSTINATO_EXHAUSTIVE=1` at all of them.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, get_args

import anyio
import pytest
from tests.loop.faults.driver import Played, Strike, Striker, check, play
from tests.loop.scenarios import SCENARIOS, WITHIN_A_PASS
from tests.loop.scene import Scene
from tests.thoroughness import spread

from ostinato.events import AssistantEvent

KINDS: Final[tuple[Strike, ...]] = get_args(Strike)
MOST_STRIKES: Final = 24


async def strike_everywhere(make: Callable[[], Scene], kind: Strike) -> int:
    """Strike at touches of the clean run, each in a run of its own; how many there were."""
    clean = await play(make(), Striker())
    check(clean)
    touches = range(1, clean.striker.touches + 1)
    for at in spread(touches, MOST_STRIKES, phase=KINDS.index(kind)):
        played = await play(make(), Striker(at, kind))
        try:
            check(played)
            errors_are_released_once(played)
        except AssertionError as error:
            raise AssertionError(f"touch {at} ({played.striker.touched[at - 1]}), {kind}: {error}") from error
    return clean.striker.touches


def errors_are_released_once(played: Played) -> None:
    notes = [e for e in played.events if isinstance(e, AssistantEvent) and e.message.is_error]
    assert len(notes) <= 1


RUNS = [*((name, "asyncio") for name in SCENARIOS), *((name, "trio") for name in WITHIN_A_PASS)]
"""What follows a pass is one task, and the same on both."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "backend"), RUNS)
def test_a_query_struck_at_any_touch_keeps_its_promises(name: str, backend: str, kind: Strike):
    touches = anyio.run(partial(strike_everywhere, SCENARIOS[name], kind), backend=backend)
    assert touches > 2

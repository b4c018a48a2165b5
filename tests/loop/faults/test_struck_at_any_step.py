"""Between any two steps of any task the query is aborted, or its consumer is cancelled: the promises hold.

Trio tells before each step of a task, so every suspension of a run can be met, in a run of its own: all of them with
`OSTINATO_EXHAUSTIVE=1`, of long runs a choice otherwise.
"""

from collections.abc import Callable
from typing import Final, Literal, get_args

import anyio
import anyio.lowlevel
import pytest
import trio
from tests.loop.faults.driver import Played, Striker, check, play
from tests.loop.scenarios import SCENARIOS
from tests.loop.scene import Scene
from tests.thoroughness import spread

Kind = Literal["abort", "cancel"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MOST_STRIKES: Final = 40


class AtStep(trio.abc.Instrument):
    """Calls `strike` before step number `at` (from 1; 0 for never)."""

    def __init__(self, at: int) -> None:
        self.steps = 0
        self.strike: Callable[[], None] | None = None
        self._at = at

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        del task
        self.steps += 1
        if self.steps == self._at and self.strike is not None:
            self.strike()


async def struck(make: Callable[[], Scene], step: AtStep, kind: Kind) -> Played | None:
    """None if the consumer was cancelled before it had anything to tell."""
    scene = make()
    played: Played | None = None
    striker = Striker()
    with anyio.CancelScope() as scope:
        step.strike = scope.cancel if kind == "cancel" else lambda: scene.abort.abort("user")
        played = await play(scene, striker)
    step.strike = None
    if played is None:
        with anyio.fail_after(5):
            while scene.log.running or scene.model.open_streams:
                await anyio.lowlevel.checkpoint()
    return played


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_query_struck_at_any_step_keeps_its_promises(name: str, kind: Kind):
    unstruck = AtStep(0)
    run(name, unstruck, kind)
    assert unstruck.steps > 5
    for at in spread(range(1, unstruck.steps + 1), MOST_STRIKES, phase=KINDS.index(kind)):
        played = run(name, AtStep(at), kind)
        if played is not None:
            check(played)


def run(name: str, step: AtStep, kind: Kind) -> Played | None:
    options = {"instruments": [step]}
    return anyio.run(struck, SCENARIOS[name], step, kind, backend="trio", backend_options=options)

"""Between any two steps of any task the query is aborted, or its consumer is cancelled: the promises hold.

Trio tells before each step of a task, so every suspension of a run can be met, in a run of its own.
"""

from collections.abc import Callable
from typing import Literal

import anyio
import anyio.lowlevel
import pytest
import trio
from tests.loop.faults.driver import Played, Striker, check, play
from tests.loop.scenarios import SCENARIOS
from tests.loop.scene import Scene

Kind = Literal["abort", "cancel"]


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


@pytest.mark.parametrize("kind", ["abort", "cancel"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_query_struck_at_any_step_keeps_its_promises(name: str, kind: Kind):
    at, is_over = 0, False
    while not is_over:
        at += 1
        step = AtStep(at)
        options = {"instruments": [step]}
        played = anyio.run(struck, SCENARIOS[name], step, kind, backend="trio", backend_options=options)
        if played is not None:
            check(played)
        is_over = step.steps < at
    assert at > 5

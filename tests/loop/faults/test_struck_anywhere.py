"""Every touch of the outside, in every scenario, fails once, aborts once and loses its consumer once: the promises hold."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import anyio
import pytest
from tests.loop.faults.driver import Played, Strike, Striker, check, play, takes_steps
from tests.loop.scene import Scene

from ostinato.errors import ModelError
from ostinato.events import AssistantEvent
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    Fails,
    FakeClock,
    Reply,
    RunLog,
    ScriptedModel,
    Turn,
    call,
    fake_tool,
    say,
    think,
)

OVERLOADED = ModelError("busy", kind="overloaded", status=529, retry=True, recover="fallback_model")
GONE = ModelError("gone", kind="not_found", status=404, recover="fallback_model")
SECOND = replace(SCRIPTED_FACTS, id="second")
MORE = tuple(Reply(say(f"more {number}")) for number in range(12))


def scene(*turns: Turn, others: tuple[ScriptedModel, ...] = (), **more: object) -> tuple[Scene, RunLog]:
    log = RunLog()
    tools = [
        fake_tool("Look", takes_steps, log=log, is_read_only=True),
        fake_tool("Write", takes_steps, log=log),
    ]
    config = QueryConfig(normalise_strictly=True, max_retries=3)
    clock = FakeClock(auto_advance=True)
    model = ScriptedModel(*turns, *MORE)
    made = Scene(model, tools, config=config, clock=clock, others=others, max_turns=8)
    return replace(made, **more), log


SCENES: dict[str, Callable[[], tuple[Scene, RunLog]]] = {
    "an answer": lambda: scene(Reply(think("hm"), say("hello"))),
    "a look": lambda: scene(Reply(say("I look"), call("Look", "a")), Reply(say("done"))),
    "a look and a write": lambda: scene(
        Reply(call("Look", "a"), call("Write", "b"), call("Look", "c")), Reply(say("done"))
    ),
    "a retry": lambda: scene(
        Fails(OVERLOADED), Cut(Reply(say("x"), say("y")), after_blocks=1), Reply(say("z"))
    ),
    "a look taken back": lambda: scene(
        Cut(Reply(call("Look", "a"), say("x")), after_blocks=1), Reply(call("Look", "b")), Reply(say("z"))
    ),
    "a write that stays": lambda: scene(
        Cut(Reply(call("Write", "a"), say("x"), say("y")), after_blocks=2), Reply(say("z"))
    ),
    "another model": lambda: scene(
        Reply(think("hm"), call("Look", "a")),
        Cut(Reply(say("x"), call("Look", "b")), after_blocks=2, error=GONE),
        others=(ScriptedModel(Reply(call("Write", "c")), Reply(say("z")), *MORE, facts=SECOND),),
    ),
    "an output limit": lambda: scene(Reply(say("cut"), stop_reason="max_tokens"), Reply(say("all of it"))),
}


async def strike_everywhere(make: Callable[[], tuple[Scene, RunLog]], kind: Strike) -> int:
    """Strike at each touch of the clean run, each in a run of its own; how many there were."""
    clean = await play(*make(), Striker())
    check(clean)
    for at in range(1, clean.striker.touches + 1):
        played = await play(*make(), Striker(at, kind))
        try:
            check(played)
            errors_are_released_once(played)
        except AssertionError as error:
            raise AssertionError(f"touch {at} ({played.striker.touched[at - 1]}), {kind}: {error}") from error
    return clean.striker.touches


def errors_are_released_once(played: Played) -> None:
    notes = [e for e in played.events if isinstance(e, AssistantEvent) and e.message.is_error]
    assert len(notes) <= 1


@pytest.mark.parametrize("kind", ["fail", "abort", "leave"])
@pytest.mark.parametrize("name", SCENES)
def test_a_query_struck_at_any_touch_keeps_its_promises(name: str, kind: Strike, anyio_backend: str):
    touches = anyio.run(partial(strike_everywhere, SCENES[name], kind), backend=anyio_backend)
    assert touches > 8

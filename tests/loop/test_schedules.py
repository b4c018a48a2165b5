"""Random calls at random paces, with deadlines and aborts, in virtual time: whatever happens, conflicts never overlap and keep their
order, no more than allowed run at once, results come in order, one for each call, and everything ends.

`OSTINATO_RANDOM_SCHEDULES=2000` plays more of them, with other seeds than the usual ones.
"""

import os
import random
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final, Literal

import anyio
import msgspec
import pytest
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.events import ToolEnd, ToolStart, UserEvent
from ostinato.loop.access import conflicts
from ostinato.loop.executor import GRACE_S
from ostinato.messages import AssistantMessage, ToolResult, UserMessage
from ostinato.ports import Allowed, Denied, PermissionQuery
from ostinato.records import ToolFinished
from ostinato.submissions import AbortReason
from ostinato.testing import FakeClock, Reply, RunLog, ScriptedModel, call_with, fake_tool, say
from ostinato.testing.scripted_permissions import BY_TEST
from ostinato.tool import ToolContext, ToolOutcome

COUNT: Final = int(os.environ.get("OSTINATO_RANDOM_SCHEDULES", "24"))
TIMEOUT_S: Final = 5.0
MOST_SECONDS: Final = 400

How = Literal["answers", "fails", "raises", "swallows", "is deaf"]
ENDS: Final[tuple[How, ...]] = ("answers", "answers", "answers", "fails", "raises", "swallows", "is deaf")


class Planned(msgspec.Struct, frozen=True):
    """A call: what it touches, how long it is asked about and takes (virtual seconds), and how it ends."""

    access: dict[str, Any]
    asked_s: int
    takes_s: int
    how: How
    is_denied: bool


class Plan(msgspec.Struct, frozen=True):
    calls: list[Planned]
    cap: int
    is_streaming: bool
    aborts_siblings: bool
    abort: tuple[int, AbortReason] | None


def planned(seed: int) -> Plan:
    chance = random.Random(seed)
    paths = ["a", "a/x", "a/y", "b", "c"]
    calls: list[Planned] = []
    for _ in range(chance.randint(1, 9)):
        kind = chance.choice(["reads", "reads", "writes", "both", "all", "none"])
        access: dict[str, Any] = {}
        if kind in {"reads", "both"}:
            access["reads"] = chance.sample(paths, chance.randint(1, 2))
        if kind in {"writes", "both"}:
            access["writes"] = chance.sample(paths, 1)
        if kind == "none":
            access["touches_nothing"] = True
        calls.append(
            Planned(
                access,
                chance.choice((0, 0, 0, 2)),
                chance.randint(0, 8),
                chance.choice(ENDS),
                chance.random() < 0.1,
            )
        )
    reasons: tuple[AbortReason, ...] = ("user", "interrupt", "terminated", "budget")
    abort = (chance.randint(0, 12), chance.choice(reasons)) if chance.random() < 0.4 else None
    return Plan(calls, chance.choice((1, 2, 3, 10)), chance.random() < 0.7, chance.random() < 0.3, abort)


class Asks:
    """Implements `Permissions`: takes its time, and says no to some."""

    def __init__(self, plan: Plan, clock: FakeClock) -> None:
        self._plan = plan
        self._clock = clock

    async def decide(self, query: PermissionQuery) -> Allowed | Denied:
        one = self._plan.calls[int(query.tool_use_id[1:])]
        if one.asked_s:
            await self._clock.sleep(one.asked_s)
        return Denied(BY_TEST, "no") if one.is_denied else Allowed(BY_TEST)


def staged(plan: Plan) -> Scene:
    clock = FakeClock()

    async def runs(_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome | str:
        one = plan.calls[int(context.tool_use_id[1:])]
        try:
            with anyio.CancelScope(shield=one.how == "is deaf"):
                await clock.sleep(one.takes_s)
        except anyio.get_cancelled_exc_class():
            if one.how != "swallows":
                raise
        if one.how == "raises":
            raise ValueError("by chance")
        return ToolOutcome("failed", is_error=True) if one.how == "fails" else "done"

    blocks = [call_with("Do", f"t{number}", one.access) for number, one in enumerate(plan.calls)]
    config = replace(
        STRICT,
        max_tool_concurrency=plan.cap,
        streaming_tool_execution=plan.is_streaming,
        abort_siblings=plan.aborts_siblings,
        tool_timeout_s=TIMEOUT_S,
    )
    scene = Scene(
        ScriptedModel(Reply(*blocks), Reply(say("done"))),
        [fake_tool("Do", runs, log=RunLog())],
        config=config,
    )
    return replace(scene, clock=clock, permissions=Asks(plan, clock))


async def played(plan: Plan) -> Scene:
    """One virtual second after the other until the query has ended."""
    scene = staged(plan)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await anyio.wait_all_tasks_blocked()
        for second in range(MOST_SECONDS):
            if plan.abort is not None and plan.abort[0] == second:
                scene.abort.abort(plan.abort[1])
                await anyio.wait_all_tasks_blocked()
            if is_over(scene):
                break
            scene.clock.advance(1.0)
            await anyio.wait_all_tasks_blocked()
    while scene.clock.sleepers:  # those that were given up
        scene.clock.advance(1.0)
        await anyio.wait_all_tasks_blocked()
    return scene


def is_over(scene: Scene) -> bool:
    return scene.run is not None and scene.run.messages is not None


def moments(scene: Scene) -> tuple[dict[str, int], dict[str, int]]:
    """When the calls began and ended, as places in the order of events."""
    began = {e.tool_use_id: place for place, e in enumerate(scene.events) if isinstance(e, ToolStart)}
    ended = {e.tool_use_id: place for place, e in enumerate(scene.events) if isinstance(e, ToolEnd)}
    return began, ended


def check(plan: Plan, scene: Scene) -> None:
    names = [f"t{number}" for number in range(len(plan.calls))]
    began, ended = moments(scene)
    blocks = [
        block for message in scene.view if isinstance(message, UserMessage) for block in message.content
    ]
    results = [block.tool_use_id for block in blocks if isinstance(block, ToolResult)]
    asked = [
        one.id for message in scene.view if isinstance(message, AssistantMessage) for one in message.tool_uses
    ]
    assert results == asked
    assert plan.abort is not None or asked == names
    shown = [
        b.tool_use_id
        for e in scene.events
        if isinstance(e, UserEvent)
        for b in e.message.content
        if isinstance(b, ToolResult)
    ]
    assert shown == asked
    finished = [record.tool_use_id for record in scene.journal.records if isinstance(record, ToolFinished)]
    assert sorted(finished) == sorted(asked)
    assert scene.is_same_on_disk
    most = now = 0
    for _, change in sorted([*((at, 1) for at in began.values()), *((ended[name], -1) for name in began)]):
        now += change
        most = max(most, now)
    assert most <= plan.cap
    tool, workspace = scene.tools[0], scene.params().tool_use_context.workspace
    touched = [tool.access(one.access, workspace) for one in plan.calls]
    for earlier, later in combinations(range(len(plan.calls)), 2):
        if conflicts(touched[earlier], touched[later]) and {names[earlier], names[later]} <= began.keys():
            assert ended[names[earlier]] < began[names[later]]


@pytest.mark.parametrize("part", range(6))
async def test_whatever_the_schedule_order_bounds_and_results_hold(part: int):
    first = 0 if COUNT == 24 else int.from_bytes(os.urandom(4), "big")
    for seed in range(first + part, first + COUNT, 6):
        plan = planned(seed)
        scene = await played(plan)
        try:
            check(plan, scene)
        except AssertionError as error:
            error.add_note(f"seed {seed}: {plan}")
            raise


async def test_a_writer_that_waits_is_not_passed_by_the_readers_behind_it():
    readers = [Planned({"reads": ["a"]}, 0, 3, "answers", is_denied=False) for _ in range(20)]
    writer = Planned({"writes": ["a"]}, 0, 1, "answers", is_denied=False)
    plan = Plan([readers[0], writer, *readers], 10, True, False, None)
    scene = await played(plan)
    check(plan, scene)
    began, ended = moments(scene)
    assert ended["t0"] < began["t1"] < ended["t1"] < min(began[f"t{number}"] for number in range(2, 22))


async def test_no_call_holds_an_abort_back_longer_than_its_grace():
    deaf = Planned({"touches_nothing": True}, 0, 300, "is deaf", is_denied=False)
    plan = Plan([deaf] * 3, 10, True, False, (1, "user"))
    scene = staged(plan)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await anyio.wait_all_tasks_blocked()
        scene.abort.abort("user")
        await anyio.wait_all_tasks_blocked()
        assert not is_over(scene)
        scene.clock.advance(GRACE_S)
        await anyio.wait_all_tasks_blocked()
        assert is_over(scene)
    scene.clock.advance(300)
    await anyio.wait_all_tasks_blocked()

"""Conflicting calls never overlap and keep their order; all others run together, up to the cap; each has one result."""

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.loop.scene import STRICT, Scene

from ostinato.events import ResponseUsage
from ostinato.loop.access import conflicts
from ostinato.messages import ToolUse
from ostinato.ports import Allowed
from ostinato.state import QueryConfig
from ostinato.testing import (
    AnswersAt,
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    ScriptedPermissions,
    call_with,
    fake_tool,
    say,
    waits_at,
)
from ostinato.testing.scripted_permissions import BY_TEST
from ostinato.tool import EXCLUSIVE, NO_ACCESS, Access

CLASSIC = QueryConfig(normalise_strictly=True, streaming_tool_execution=False, max_retries=0)


def a(*, reads: tuple[str, ...] = (), writes: tuple[str, ...] = ()) -> Access:
    return Access(tuple(map(Path, reads)), tuple(map(Path, writes)))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (a(reads=("/a",)), a(reads=("/a",)), False),
        (a(reads=("/a",)), a(writes=("/a",)), True),
        (a(writes=("/a",)), a(writes=("/b",)), False),
        (a(writes=("/a/b",)), a(reads=("/a",)), True),
        (a(writes=("/a",)), a(reads=("/a/b/c",)), True),
        (a(writes=("/ab",)), a(reads=("/a",)), False),
        (NO_ACCESS, NO_ACCESS, False),
        (NO_ACCESS, a(writes=("/a",)), False),
        (EXCLUSIVE, NO_ACCESS, True),
        (EXCLUSIVE, a(reads=("/a",)), True),
    ],
)
def test_two_accesses_conflict_when_one_writes_what_the_other_touches(
    first: Access, second: Access, expected: bool
):
    assert conflicts(first, second) is expected
    assert conflicts(second, first) is expected


async def overlaps(*inputs: dict[str, Any], config: QueryConfig = STRICT) -> tuple[RunLog, Scene]:
    """Run these calls, each held until as many run as can; the log tells which overlapped."""
    log = RunLog()
    blocks = [call_with("Do", f"t{number}", arguments) for number, arguments in enumerate(inputs)]
    gates = {f"t{number}": Gate() for number in range(len(inputs))}
    scene = Scene(
        ScriptedModel(Reply(*blocks), Reply(say("done"))),
        [fake_tool("Do", waits_at(gates), log=log)],
        config=config,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        while not any(isinstance(event, ResponseUsage) for event in scene.events):
            await settle()
        while len(log.finished) < len(inputs):
            await settle()
            for waiting in log.running:
                gates[waiting].open()
    return log, scene


async def settle() -> None:
    for _ in range(60):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("config", [STRICT, CLASSIC], ids=["streaming", "classic"])
async def test_three_edits_of_three_files_run_together(config: QueryConfig):
    log, _ = await overlaps({"writes": ["a"]}, {"writes": ["b"]}, {"writes": ["c"]}, config=config)
    assert log.most_at_once == 3


@pytest.mark.parametrize("config", [STRICT, CLASSIC], ids=["streaming", "classic"])
async def test_a_read_waits_for_the_edit_of_its_file_and_not_for_another(config: QueryConfig):
    log, _ = await overlaps({"writes": ["a"]}, {"reads": ["a"]}, {"reads": ["b"]}, config=config)
    assert not log.overlapped("t0", "t1")
    assert log.overlapped("t0", "t2")
    assert log.started.index("t0") < log.started.index("t1")


async def test_a_call_that_touches_everything_runs_alone_and_in_its_place():
    log, _ = await overlaps({"reads": ["a"]}, {}, {"reads": ["a"]}, {"touches_nothing": True})
    assert log.started[:2] == ("t0", "t1")
    assert not any(log.overlapped("t1", other) for other in ("t0", "t2", "t3"))


async def test_at_most_ten_run_at_once():
    log, _ = await overlaps(*[{"touches_nothing": True} for _ in range(25)])
    assert log.most_at_once == 10


async def test_the_sequential_switch_runs_one_at_a_time_in_order():
    config = QueryConfig(normalise_strictly=True, sequential_tools=True)
    log, _ = await overlaps(*[{"touches_nothing": True} for _ in range(5)], config=config)
    assert log.most_at_once == 1
    assert log.started == tuple(f"t{number}" for number in range(5))


async def test_a_call_waiting_for_permission_holds_up_nobody_it_does_not_conflict_with():
    gate, log = Gate(), RunLog()
    scene = Scene(
        ScriptedModel(
            Reply(call_with("Asks", "t0", {"writes": ["a"]}), call_with("Do", "t1", {"writes": ["b"]})),
            Reply(say("done")),
        ),
        [fake_tool("Asks", log=log), fake_tool("Do", log=log)],
        permissions=ScriptedPermissions({"Asks": AnswersAt(gate)}),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await settle()
        assert log.finished == ("t1",)
        gate.open()
    assert log.finished == ("t1", "t0")


async def test_a_call_whose_input_the_gate_changed_waits_for_a_later_one_that_it_now_conflicts_with():
    gates = {"t0": Gate(), "t1": Gate()}
    asked, log = Gate(), RunLog()
    elsewhere = Allowed(BY_TEST, {"writes": ["b"]})
    scene = Scene(
        ScriptedModel(
            Reply(call_with("Asks", "t0", {"writes": ["a"]}), call_with("Do", "t1", {"writes": ["b"]})),
            Reply(say("done")),
        ),
        [fake_tool("Asks", waits_at(gates), log=log), fake_tool("Do", waits_at(gates), log=log)],
        permissions=ScriptedPermissions({"Asks": AnswersAt(asked, elsewhere)}),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gates["t1"].reached()
        asked.open()
        await settle()
        for gate in gates.values():
            gate.open()
    assert log.finished == ("t1", "t0")
    assert not log.overlapped("t0", "t1")


accesses = st.fixed_dictionaries(
    {},
    optional={
        "reads": st.lists(st.sampled_from(["a", "a/x", "b", "c"]), min_size=1, max_size=2),
        "writes": st.lists(st.sampled_from(["a", "a/y", "b"]), min_size=1, max_size=2),
        "touches_nothing": st.just(True),
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(accesses, min_size=1, max_size=8), st.booleans())
def test_whatever_calls_touch_conflicting_ones_never_overlap_and_keep_their_order(
    inputs: list[dict[str, Any]], streaming: bool
):
    log, scene = anyio.run(lambda: overlaps(*inputs, config=STRICT if streaming else CLASSIC))
    tool = scene.tools[0]
    touched = [tool.access(arguments, scene.params().tool_use_context.workspace) for arguments in inputs]
    for later in range(len(inputs)):
        for earlier in range(later):
            if conflicts(touched[earlier], touched[later]):
                assert not log.overlapped(f"t{earlier}", f"t{later}")
                assert log.started.index(f"t{earlier}") < log.started.index(f"t{later}")
    results = scene.model.requests[1].messages[-1].content
    assert [getattr(block, "tool_use_id", "") for block in results] == [f"t{n}" for n in range(len(inputs))]
    assert not any(isinstance(block, ToolUse) for block in results)

"""A call that runs too long is told to end and answered; one that does not end is given up, and holds nobody back."""

import math
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.errors import UsageError
from ostinato.events import ToolEnd
from ostinato.loop.executor import GRACE_S
from ostinato.messages import ToolResult, UserMessage
from ostinato.records import FileIntended, ToolFinished
from ostinato.testing import (
    FakeClock,
    Gate,
    Reply,
    ScriptedModel,
    call,
    call_with,
    fake_tool,
    say,
    survives_cancellation,
    swallows_cancellation,
    waits_at,
)
from ostinato.tool import Tool, ToolContext


def outcomes(scene: Scene) -> dict[str, str]:
    return {e.tool_use_id: e.outcome for e in scene.events if isinstance(e, ToolEnd)}


def result(scene: Scene, tool_use_id: str) -> ToolResult:
    blocks = [
        block for message in scene.view if isinstance(message, UserMessage) for block in message.content
    ]
    (found,) = [one for one in blocks if isinstance(one, ToolResult) and one.tool_use_id == tool_use_id]
    return found


def two_passes(*tools: Tool, **more: object) -> Scene:
    asked = [call(tool.name, f"t{number}") for number, tool in enumerate(tools)]
    scene = Scene(ScriptedModel(Reply(*asked), Reply(say("done"))), tools, config=STRICT)
    return replace(scene, **more)


async def test_a_call_has_the_engines_time_and_is_answered_when_it_is_over():
    scene = two_passes(fake_tool("Hangs", waits_at(Gate())))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await scene.clock.until_sleeping()
        scene.clock.advance(STRICT.tool_timeout_s)
    assert outcomes(scene) == {"t0": "timed_out"}
    assert result(scene, "t0").is_error
    assert "1800 s" in str(result(scene, "t0").content)
    assert scene.terminal.reason == "completed"
    assert scene.clock.sleepers == 0


async def test_a_tool_can_have_a_time_of_its_own():
    tool = replace(fake_tool("Hangs", waits_at(Gate())), timeout_s=3.0)
    scene = two_passes(tool)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await scene.clock.until_sleeping()
        scene.clock.advance(3.0)
    assert outcomes(scene) == {"t0": "timed_out"}


async def test_a_shorter_time_counts_although_a_longer_one_is_waited_for():
    slow = fake_tool("Slow", waits_at(gate := Gate()), is_read_only=True)
    quick = replace(fake_tool("Quick", waits_at(Gate()), is_read_only=True), timeout_s=3.0)
    asked = [call_with("Slow", "t0", {"reads": ["a"]}), call_with("Quick", "t1", {"reads": ["b"]})]
    scene = Scene(ScriptedModel(Reply(*asked), Reply(say("done"))), [slow, quick])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await scene.clock.until_sleeping()
        await anyio.wait_all_tasks_blocked()
        scene.clock.advance(3.0)
        await anyio.wait_all_tasks_blocked()
        assert outcomes(scene) == {"t1": "timed_out"}
        gate.open()
    assert outcomes(scene) == {"t0": "ok", "t1": "timed_out"}


async def test_a_tool_that_keeps_time_itself_is_not_watched():
    gate = Gate()
    scene = two_passes(replace(fake_tool("Own", waits_at(gate)), timeout_s=math.inf))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await anyio.wait_all_tasks_blocked()
        assert scene.clock.sleepers == 0
        gate.open()
    assert outcomes(scene) == {"t0": "ok"}


async def test_a_call_that_answers_when_it_is_told_to_end_has_its_own_answer():
    scene = two_passes(fake_tool("Late", swallows_cancellation(Gate(), "all of it")))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await scene.clock.until_sleeping()
        scene.clock.advance(STRICT.tool_timeout_s)
    assert outcomes(scene) == {"t0": "ok"}
    assert result(scene, "t0").content == "all of it"


async def test_a_call_that_does_not_end_is_given_up_and_the_query_goes_on_to_its_terminal():
    gate = Gate()
    deaf = fake_tool("Deaf", survives_cancellation(gate))
    scene = two_passes(deaf)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await scene.clock.until_sleeping()
        scene.clock.advance(STRICT.tool_timeout_s)
        await scene.clock.until_sleeping()
        assert scene.model.requests[1:] == []
        scene.clock.advance(GRACE_S)
    assert outcomes(scene) == {"t0": "outcome_unknown"}
    assert scene.terminal.reason == "completed"
    assert scene.is_same_on_disk
    written = list(scene.journal.records)
    gate.open()
    await anyio.wait_all_tasks_blocked()
    assert scene.journal.records == written
    assert [r.outcome for r in written if isinstance(r, ToolFinished)] == ["outcome_unknown"]


async def test_what_conflicts_with_a_late_call_waits_until_it_has_ended():
    gate = Gate()
    deaf = fake_tool("Deaf", survives_cancellation(gate))
    after = fake_tool("After")
    asked = [call_with("Deaf", "t0", {"writes": ["a"]}), call_with("After", "t1", {"reads": ["a"]})]
    scene = Scene(ScriptedModel(Reply(*asked), Reply(say("done"))), [deaf, after])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await scene.clock.until_sleeping()
        scene.clock.advance(STRICT.tool_timeout_s)
        await anyio.wait_all_tasks_blocked()
        assert outcomes(scene) == {}
        gate.open()
    assert outcomes(scene) == {"t0": "ok", "t1": "ok"}


@pytest.mark.parametrize("reason", ["user", "terminated"])
async def test_after_an_abort_a_call_that_does_not_end_holds_the_terminal_back_no_longer_than_that(
    reason: str,
):
    gate = Gate()
    scene = two_passes(fake_tool("Deaf", survives_cancellation(gate)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort(reason)  # pyright: ignore[reportArgumentType] - both are reasons
        await scene.clock.until_sleeping()
        scene.clock.advance(GRACE_S)
    assert scene.terminal.reason == "aborted_tools"
    assert outcomes(scene) == {"t0": "cancelled"}
    gate.open()
    await anyio.wait_all_tasks_blocked()


async def test_a_call_that_was_given_up_changes_no_file(tmp_path: Path):
    gate, refused = Gate(), list[UsageError]()

    async def writes(_input: object, context: ToolContext) -> None:
        try:
            await context.workspace.replace_file(tmp_path / "file", b"late")
        except UsageError as error:
            refused.append(error)
            raise

    scene = two_passes(fake_tool("Deaf", survives_cancellation(gate), writes), folder=tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort("user")
        await scene.clock.until_sleeping()
        scene.clock.advance(GRACE_S)
    gate.open()
    await anyio.wait_all_tasks_blocked()
    assert len(refused) == 1
    assert not (tmp_path / "file").exists()
    assert not any(isinstance(record, FileIntended) for record in scene.journal.records)


async def test_no_alarm_is_left_after_calls_that_end_by_themselves():
    scene = Scene(
        ScriptedModel(*[Reply(call("Look", f"t{n}", at=n)) for n in range(5)], Reply(say("done"))),
        [fake_tool("Look")],
        clock=FakeClock(),
    )
    await scene.play()
    assert scene.clock.sleepers == 0

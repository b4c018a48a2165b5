"""A failed call leaves the others of its reply alone, unless it is set otherwise; then it ends them, and each has its result."""

import anyio
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.events import ToolEnd
from ostinato.loop.results import stopped
from ostinato.messages import ToolResult, UserMessage
from ostinato.state import QueryConfig
from ostinato.testing import Gate, Reply, ScriptedModel, answers, call_with, fake_tool, say, waits_at
from ostinato.tool import ToolOutcome

FAILS = answers(ToolOutcome("exit code 1", is_error=True))
ENDING_SIBLINGS = replace(STRICT, abort_siblings=True)


async def play(config: QueryConfig, *, read_only: bool = False) -> Scene:
    """`t0` waits at its gate, `t1` fails while it does, `t2` waits for `t0`, `t3` comes later in the reply."""
    held, reply = Gate(), Gate()
    asked = [
        call_with("Held", "t0", {"writes": ["a"]}),
        call_with("Fails", "t1", {"writes": ["b"]}),
        call_with("Other", "t2", {"writes": ["a"]}),
    ]
    scene = Scene(
        ScriptedModel(Reply(*asked, reply, call_with("Other", "t3", {"writes": ["c"]})), Reply(say("done"))),
        [
            fake_tool("Held", waits_at(held)),
            fake_tool("Fails", FAILS, is_read_only=read_only),
            fake_tool("Other"),
        ],
        config=config,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await held.reached()
        await anyio.wait_all_tasks_blocked()
        reply.open()
        await anyio.wait_all_tasks_blocked()
        held.open()
    return scene


def outcomes(scene: Scene) -> list[str]:
    ends = {e.tool_use_id: e.outcome for e in scene.events if isinstance(e, ToolEnd)}
    return [ends[name] for name in sorted(ends)]


async def test_by_itself_a_failed_call_ends_no_other():
    scene = await play(STRICT)
    assert outcomes(scene) == ["ok", "error", "ok", "ok"]


async def test_where_it_is_set_a_failed_call_ends_what_runs_waits_and_comes_later():
    scene = await play(ENDING_SIBLINGS)
    assert outcomes(scene) == ["cancelled", "error", "cancelled", "cancelled"]
    assert scene.terminal.reason == "completed"
    blocks = [
        block for message in scene.view if isinstance(message, UserMessage) for block in message.content
    ]
    said = {block.tool_use_id: block.content for block in blocks if isinstance(block, ToolResult)}
    assert said["t0"] == stopped("sibling_error", has_started=True)
    assert said["t2"] == said["t3"] == stopped("sibling_error", has_started=False)


async def test_a_call_that_only_reads_ends_no_other():
    scene = await play(ENDING_SIBLINGS, read_only=True)
    assert outcomes(scene) == ["ok", "error", "ok", "ok"]

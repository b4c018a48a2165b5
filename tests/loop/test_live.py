"""A consumer sees things when they happen: blocks while the reply streams, results and output while other tools run."""

from collections.abc import Sequence

import anyio
import anyio.lowlevel
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.events import (
    AssistantEvent,
    Event,
    StreamEvent,
    SystemEvent,
    ThinkingDelta,
    ToolOutput,
    UserEvent,
)
from ostinato.loop.executor import MAX_PROGRESS_CHARACTERS
from ostinato.loop.query import query
from ostinato.messages import AssistantMessage, Message, SystemMessage, ToolResult
from ostinato.records import Record
from ostinato.state import QueryConfig
from ostinato.testing import (
    Gate,
    Reply,
    ScriptedModel,
    call,
    fake_tool,
    kinds,
    reports,
    say,
    think,
    waits_at,
)

CLASSIC = QueryConfig(normalise_strictly=True, streaming_tool_execution=False, max_retries=0)


async def settle() -> None:
    """Let everything that can run, run."""
    for _ in range(60):
        await anyio.lowlevel.checkpoint()


async def held_at(gate: Gate, scene: Scene) -> tuple[list[Event], list[Record]]:
    """What was shown and what was written when everything stood still before this gate; then the query goes on."""
    shown: list[Event] = []
    written: list[Record] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await settle()
        shown.extend(scene.events)
        written.extend(scene.journal.records)
        gate.open()
    return shown, written


async def test_a_completed_block_is_shown_while_the_reply_still_streams():
    gate = Gate()
    shown, _ = await held_at(gate, Scene(ScriptedModel(Reply(say("first"), gate, say("second")))))
    assert [event.message.text for event in shown if isinstance(event, AssistantEvent)] == ["first"]


async def test_a_completed_block_is_written_while_the_reply_still_streams():
    gate = Gate()
    _, written = await held_at(gate, Scene(ScriptedModel(Reply(say("first"), gate, say("second")))))
    assert [record.text for record in written if isinstance(record, AssistantMessage)] == ["first"]


async def test_thinking_is_shown_word_by_word_and_a_tools_output_while_it_runs():
    gate = Gate()
    model = ScriptedModel(Reply(think("hm, let me see"), call("Build", "t1")), Reply(say("done")))
    shown, _ = await held_at(gate, Scene(model, [fake_tool("Build", reports("half way"), waits_at(gate))]))
    assert any(isinstance(e, StreamEvent) and isinstance(e.event, ThinkingDelta) for e in shown)
    assert [e.text for e in shown if isinstance(e, ToolOutput)] == ["half way"]


async def test_what_a_tool_prints_is_shown_as_valid_text_and_never_large():
    printed = ["x" * 10_000_000 + "end", "half \ud800"]
    scene = Scene(
        ScriptedModel(Reply(call("Build", "t1")), Reply(say("built"))),
        [fake_tool("Build", reports(*printed))],
    )
    large, half = [event.text for event in await scene.play() if isinstance(event, ToolOutput)]
    assert (len(large), large[-4:], half) == (MAX_PROGRESS_CHARACTERS, "xend", "half \ufffd")


async def test_progress_says_what_starts_what_it_prints_and_how_it_ends():
    scene = Scene(
        ScriptedModel(Reply(call("Build", "t1")), Reply(say("done"))),
        [fake_tool("Build", reports("half way"))],
    )
    events = await scene.play()
    progress = [name for name in kinds(events, with_progress=True) if name.startswith("tool_")]
    assert progress == ["tool_start", "tool_output", "tool_end"]


async def test_a_result_is_shown_while_a_later_call_still_runs():
    gate = Gate()
    tools = [fake_tool("Quick"), fake_tool("Slow", waits_at(gate))]
    model = ScriptedModel(
        Reply(call("Quick", "t1", touches_nothing=True), call("Slow", "t2", touches_nothing=True)),
        Reply(say("done")),
    )
    shown, _ = await held_at(gate, Scene(model, tools, config=CLASSIC))
    blocks = [event.message.content[0] for event in shown if isinstance(event, UserEvent)]
    assert [block.tool_use_id for block in blocks if isinstance(block, ToolResult)] == ["t1"]


async def test_a_notice_is_shown_to_the_user_and_never_sent_to_the_model():
    notice = SystemMessage("n", "info", "the disk is nearly full")

    async def attach(view: Sequence[Message]) -> Sequence[Message]:
        return (notice,)

    scene = Scene(ScriptedModel(Reply(call("Look", "t1")), Reply(say("done"))), [fake_tool("Look")])
    events = [e async for e in query(scene.params(), replace(scene.deps(), collect_attachments=attach))]
    assert [e.message for e in events if isinstance(e, SystemEvent)] == [notice]
    assert "nearly full" not in repr(scene.model.requests[1].messages)

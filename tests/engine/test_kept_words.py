"""What an aborted reply had shown stays in the conversation: the next prompt may speak of it, in this process and after a resume."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from ostinato import Options
from ostinato.engine.assemble import open_engine
from ostinato.events import Event, Result, StreamEvent, TextDelta
from ostinato.messages import AssistantMessage, Text, Thinking, ToolUse, UserMessage
from ostinato.submissions import AbortReason
from ostinato.testing import Gate, Reply, ScriptedModel, call, fake_tool, result, say, terminal, think

BLOCKS = (
    think("hm, hm, hm", signature="s"),
    say("Let me see what is there. "),
    call("Look", "t1", at="a.py"),
)
PIECE = 5
EVENTS = 19
"""Of the reply: its start, three blocks in pieces, its end."""


def options(tmp_path: Path, model: ScriptedModel, **more: Any) -> Options:
    return Options(
        cwd=tmp_path,
        model=model,
        tools=[fake_tool("Look")],
        allowed_tools=["Look"],
        environment={"HOME": str(tmp_path)},
        **more,
    )


async def cut_at(tmp_path: Path, index: int, reason: AbortReason) -> tuple[list[Event], str]:
    """The events of a query that is aborted before this event of its reply, and its session."""
    gate = Gate()
    model = ScriptedModel(Reply(*BLOCKS, holds={index: gate}, piece_characters=PIECE))
    events: list[Event] = []
    async with open_engine(options(tmp_path, model)) as engine, anyio.create_task_group() as tasks:

        async def submit() -> None:
            events.extend([event async for event in engine.submit_message("go")])

        tasks.start_soon(submit)
        await gate.reached()
        engine.interrupt(reason)
    return events, engine.session_id


def shown_text(events: list[Event]) -> str:
    return "".join(
        event.event.text
        for event in events
        if isinstance(event, StreamEvent) and isinstance(event.event, TextDelta)
    )


@pytest.mark.parametrize("reason", ["user", "timeout", "interrupt"])
@pytest.mark.parametrize("index", range(2, EVENTS))
async def test_wherever_a_reply_is_cut_its_text_stays_and_the_conversation_goes_on_after_a_resume(
    tmp_path: Path, index: int, reason: AbortReason
):
    events, session = await cut_at(tmp_path, index, reason)
    shown = shown_text(events)
    model = ScriptedModel(Reply(say("and so on")))
    async with open_engine(options(tmp_path, model, resume=session)) as engine:
        kept = [message for message in engine.get_messages() if isinstance(message, AssistantMessage)]
        further = [event async for event in engine.submit_message("go on")]
    assert terminal(further).reason == "completed"
    assert "".join(message.text for message in kept) == (shown if shown.strip() else "")
    assert all(message.is_incomplete for message in kept if shown and shown != BLOCKS[1].text)
    sent = [block for message in model.requests[0].messages for block in message.content]
    assert "".join(block.text for block in sent if isinstance(block, Text) and block.text in shown) == shown
    calls = [block for message in kept for block in message.content if isinstance(block, ToolUse)]
    assert calls == ([] if index < EVENTS - 1 else list(BLOCKS[2:]))


async def test_a_thought_that_was_cut_is_not_kept(tmp_path: Path):
    events, session = await cut_at(tmp_path, 3, "user")
    assert terminal(events).reason == "aborted_streaming"
    async with open_engine(options(tmp_path, ScriptedModel(), resume=session)) as engine:
        kept = [message for message in engine.get_messages() if isinstance(message, AssistantMessage)]
    assert not any(isinstance(block, Thinking) for message in kept for block in message.content)


async def test_the_result_has_what_was_said(tmp_path: Path):
    events, _session = await cut_at(tmp_path, 9, "user")
    assert result(events).text == shown_text(events) != ""


async def test_who_leaves_in_the_middle_finds_it_too(tmp_path: Path):
    gate = Gate()
    model = ScriptedModel(Reply(*BLOCKS, holds={9: gate}, piece_characters=PIECE), Reply(say("and so on")))
    shown: list[Event] = []
    async with open_engine(options(tmp_path, model)) as engine:
        events = engine.submit_message("go")
        async for event in events:
            shown.append(event)
            if shown_text(shown):
                break
        await events.aclose()
        further = [event async for event in engine.submit_message("go on")]
        kept = [message for message in engine.get_messages() if isinstance(message, AssistantMessage)]
    assert isinstance(further[-1], Result)
    assert kept[0].text.startswith(shown_text(shown))
    assert kept[0].is_incomplete
    assert isinstance(engine.get_messages()[0], UserMessage)

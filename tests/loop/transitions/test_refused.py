"""A refusal ends the query and is told; what was shown stays shown, and the next prompt does not carry it to the model."""

import anyio
import pytest
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.errors import ModelError
from ostinato.events import AssistantEvent, SystemEvent, Tombstone
from ostinato.messages import AssistantBlock, AssistantMessage, ProviderState, ServerBlock
from ostinato.records import ToolStarted
from ostinato.testing import (
    Cut,
    Fails,
    Gate,
    Reply,
    ScriptedModel,
    call,
    fake_tool,
    say,
    think,
    waits_at,
)
from ostinato.tool import ToolContext


def refusing(*parts: AssistantBlock | Gate) -> Reply:
    return Reply(*parts, stop_reason="refusal")


async def next_request(scene: Scene) -> str:
    """What the model reads with the next prompt; the strict model refuses an illegal request."""
    later = Scene(ScriptedModel(Reply(say("yes"))), list(scene.tools), before=scene.view, prompt="then this")
    await later.play()
    assert later.terminal.reason == "completed"
    return str(later.model.requests[0].messages)


async def test_the_user_is_told_and_what_was_shown_is_not_taken_back():
    scene = Scene(ScriptedModel(refusing(say("I would say"))))
    events = await scene.play()
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("refused", "refused")
    assert scene.terminal.hint
    assert not any(isinstance(event, Tombstone) for event in events)
    shown = [event.message for event in events if isinstance(event, AssistantEvent)]
    assert [message.is_error for message in shown] == [False, True]
    assert any(isinstance(r, AssistantMessage) and r.text == "I would say" for r in scene.journal.records)


async def test_the_next_prompt_does_not_carry_the_refused_reply():
    scene = Scene(ScriptedModel(refusing(say("I would say"))), prompt="first this")
    await scene.play()
    sent = await next_request(scene)
    assert "I would say" not in sent
    assert "first this" in sent
    assert "then this" in sent


async def test_a_refusal_before_a_word_ends_the_same_way():
    scene = Scene(ScriptedModel(refusing()))
    await scene.play()
    assert scene.terminal.reason == "refused"
    await next_request(scene)


async def test_calls_of_a_refused_reply_do_not_run_and_leave_nothing():
    ran: list[str] = []

    async def look(_input: object, context: ToolContext) -> None:
        ran.append(context.tool_use_id)

    tools = [fake_tool("Look", look)]
    scene = Scene(ScriptedModel(refusing(say("so:"), call("Look", "t1"))), tools)
    scene.config = replace(scene.config, streaming_tool_execution=False)
    await scene.play()
    assert ran == []
    assert not any(isinstance(record, ToolStarted) for record in scene.journal.records)
    assert "t1" not in await next_request(scene)


async def test_a_call_that_had_begun_to_change_something_stays_known():
    gate, running = Gate(), Gate()
    scene = Scene(
        ScriptedModel(
            refusing(
                think("hm", signature="s"),
                say("so:"),
                ServerBlock("whole", "s1", "", ProviderState("", "", '"searched"')),
                call("Write", "t1"),
                call("Write", "t2"),
                gate,
            )
        ),
        [fake_tool("Write", waits_at(running))],
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        await running.reached()
        gate.open()
    sent = await next_request(scene)
    assert "t1" in sent
    assert "hm" in sent
    assert "so:" not in sent
    assert "searched" not in sent
    assert "t2" not in sent


async def test_earlier_rounds_of_the_same_query_stay():
    scene = Scene(ScriptedModel(Reply(call("Look", "t1")), refusing(say("no"))), [fake_tool("Look")])
    await scene.play()
    assert "t1" in await next_request(scene)


async def test_the_journal_folds_to_the_same_view():
    scene = Scene(ScriptedModel(Reply(call("Look", "t1")), refusing(say("no"))), [fake_tool("Look")])
    await scene.play()
    folded = scene.written
    assert folded.view() == scene.view


# ------------------------------------------------------------------ a refusal by the provider, told as an error

BLOCKED = ModelError("the prompt was blocked by a policy", kind="refused", status=400)


async def test_an_error_that_is_a_refusal_ends_the_query_as_one_and_says_what_the_provider_said():
    scene = Scene(ScriptedModel(Fails(BLOCKED)))
    await scene.play()
    ending = scene.terminal
    assert (ending.reason, ending.error_kind, ending.status) == ("refused", "refused", 400)
    assert ending.error == BLOCKED.message
    assert ending.hint
    notes = [e.message for e in scene.events if isinstance(e, AssistantEvent) and e.message.is_error]
    assert [note.text for note in notes] == [BLOCKED.message]
    assert len(scene.model.requests) == 1


@pytest.mark.parametrize("is_said_in_reply", [True, False])
async def test_what_had_begun_to_change_something_is_told_and_nothing_says_that_the_query_goes_on(
    is_said_in_reply: bool,
):
    gate = Gate()

    async def opens(_input: object, _context: object) -> None:
        gate.open()

    parts = call("Look", "t1"), call("Write", "t2"), gate, say("x")
    turn = refusing(*parts) if is_said_in_reply else Cut(Reply(*parts), after_blocks=3, error=BLOCKED)
    tools = [fake_tool("Look", is_read_only=True), fake_tool("Write", opens)]
    scene = Scene(ScriptedModel(turn), tools)
    events = await scene.play()
    assert scene.terminal.reason == "refused"
    (note,) = [e.message.text for e in events if isinstance(e, AssistantEvent) and e.message.is_error]
    assert "`Write`" in note
    assert "`Look`" not in note
    assert scene.terminal.error == note
    assert not any(isinstance(event, SystemEvent) for event in events)
    assert "t2" in await next_request(scene)


async def test_a_refusal_in_the_middle_of_a_reply_takes_what_was_said_from_the_model():
    begun = Reply(say("I would say"), call("Look", "t1"), say("more"))
    scene = Scene(ScriptedModel(Cut(begun, after_blocks=2, error=BLOCKED)), [fake_tool("Look")])
    scene.config = replace(scene.config, streaming_tool_execution=False)
    await scene.play()
    assert scene.terminal.reason == "refused"
    assert not any(isinstance(record, ToolStarted) for record in scene.journal.records)
    sent = await next_request(scene)
    assert "I would say" not in sent
    assert "t1" not in sent

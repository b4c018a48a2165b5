"""A history that the provider finds illegal is sent again, each time repaired more, and the error comes once at the end."""

from collections.abc import Callable

import pytest
from msgspec.structs import fields, replace
from tests.loop.scene import STRICT, Scene
from tests.loop.transitions.test_used_tools import busy_state

from ostinato.errors import ModelError
from ostinato.events import AssistantEvent, Tombstone
from ostinato.loop.transitions.repaired import repaired
from ostinato.messages import (
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    assistant_fragment,
    tool_result_message,
    user_prompt,
)
from ostinato.ports import ModelRequest
from ostinato.records import Continued
from ostinato.state import Bounds, Failed, State
from ostinato.testing import Fails, Reply, ScriptedModel, call, fake_tool, say, think, transitions

ILLEGAL = ModelError("tool ids are odd", kind="invalid_history", status=400, recover="repair_history")
RETRY = "history_repair_retry"

BEFORE: list[Message] = [
    user_prompt("p0", "look at it"),
    assistant_fragment("a0", "r0", "m", think("hm", signature="s")),
    assistant_fragment("a1", "r0", "m", ToolUse("odd:id", "Look", {"path": "f"})),
    tool_result_message("c0", ToolResult("odd:id", "found")),
    assistant_fragment("a2", "r1", "m", Text("I looked")),
]


def picky(is_fine: Callable[[str], bool], then: Reply | None = None) -> ScriptedModel:
    """A model that refuses every request whose text has something it does not like."""

    def script(request: ModelRequest, _number: int) -> Reply | Fails:
        return (then or Reply(say("done"))) if is_fine(str(request.messages)) else Fails(ILLEGAL)

    return ScriptedModel(script=script)


def repairs(scene: Scene) -> list[int | None]:
    return [step.attempt for step in scene.terminal.transitions if step.reason == RETRY]


@pytest.mark.parametrize(
    ("disliked", "levels"),
    [("odd:id", [1]), ("Thinking", [1, 2]), ("ToolResult", [1, 2, 3])],
    ids=["ids", "thinking", "tool blocks"],
)
async def test_the_conversation_goes_on_at_the_first_level_that_the_provider_takes(
    disliked: str, levels: list[int]
):
    scene = Scene(picky(lambda text: disliked not in text), before=BEFORE)
    await scene.play()
    assert repairs(scene) == levels
    assert scene.terminal.reason == "completed"
    assert len(scene.model.requests) == len(levels) + 1
    assert not any(isinstance(e, AssistantEvent) and e.message.is_error for e in scene.events)
    assert len([m for m in scene.view if isinstance(m, SystemMessage)]) == len(levels)


async def test_when_nothing_helps_the_error_comes_once():
    scene = Scene(picky(lambda _text: False), before=BEFORE)
    await scene.play()
    assert repairs(scene) == [1, 2, 3]
    assert (scene.terminal.reason, scene.terminal.error_kind) == ("model_error", "invalid_history")
    errors = [e for e in scene.events if isinstance(e, AssistantEvent) and e.message.is_error]
    assert len(errors) == 1


async def test_no_request_is_sent_twice_as_it_was():
    scene = Scene(picky(lambda _text: False), before=BEFORE)
    await scene.play()
    sent = [str(request.messages) for request in scene.model.requests]
    assert len(set(sent)) == len(sent) == 4


async def test_a_level_that_would_change_nothing_is_left_out():
    legal: list[Message] = [
        user_prompt("p0", "look at it"),
        assistant_fragment("a1", "r0", "m", ToolUse("t1", "Look", {})),
        tool_result_message("c0", ToolResult("t1", "found")),
    ]
    scene = Scene(picky(lambda _text: False), before=legal)
    await scene.play()
    assert repairs(scene) == [3]


async def test_a_history_that_cannot_be_repaired_is_not_sent_again():
    scene = Scene(picky(lambda _text: False))
    await scene.play()
    assert repairs(scene) == []
    assert len(scene.model.requests) == 1


async def test_later_passes_of_the_query_stay_repaired():
    asked = iter([Reply(call("Look", "t9")), Reply(say("done"))])

    def script(request: ModelRequest, _number: int) -> Reply | Fails:
        return next(asked) if "Thinking" not in str(request.messages) else Fails(ILLEGAL)

    scene = Scene(ScriptedModel(script=script), [fake_tool("Look")], before=BEFORE)
    await scene.play()
    assert transitions(scene.terminal) == (RETRY, RETRY, "next_turn")


async def test_the_history_itself_is_left_as_it_was():
    scene = Scene(picky(lambda text: "Tool" not in text), before=BEFORE)
    await scene.play()
    assert not any(isinstance(event, Tombstone) for event in scene.events)
    kept = [block for message in scene.view for block in getattr(message, "content", ())]
    assert any(isinstance(block, Thinking) for block in kept)
    assert any(isinstance(block, ToolUse) for block in kept)


async def test_a_poisoned_history_can_be_gone_on_with_in_every_later_query():
    view: list[Message] = BEFORE
    for prompt in ("one", "two"):
        scene = Scene(picky(lambda text: "Thinking" not in text), before=view, prompt=prompt)
        await scene.play()
        assert scene.terminal.reason == "completed"
        view = [m for m in scene.view if m.uuid != "prompt"]


async def test_an_illegal_history_is_repaired_where_repairs_are_not_errors():
    unpaired: list[Message] = [
        user_prompt("p0", "look at it"),
        assistant_fragment("a1", "r0", "m", ToolUse("t1", "Look", {})),
    ]
    scene = Scene(
        picky(lambda text: "ToolUse" not in text),
        before=unpaired,
        config=replace(STRICT, normalise_strictly=False),
    )
    await scene.play()
    assert scene.terminal.reason == "completed"


def test_each_field_of_the_state_is_set():
    before = replace(busy_state(), bounds=Bounds(nudges=4, repairs=1))
    step = repaired(before, Failed(error=ILLEGAL), Scene(ScriptedModel()).deps(), 2)
    expected = {
        "auto_compact_tracking": before.auto_compact_tracking,
        "max_output_tokens_recovery_count": 2,
        "has_attempted_reactive_compact": True,
        "max_output_tokens_override": 64_000,
        "pending_tool_use_summary": None,
        "stop_hook_active": True,
        "turn_count": 7,
        "transition": Continued(RETRY, 7, attempt=2),
        "bounds": Bounds(nudges=4, repairs=2),
    }
    assert {name: getattr(step.state, name) for name in expected} == expected
    assert {field.name for field in fields(State)} == {*expected, "messages", "tool_use_context"}
    assert step.state.messages.view() == [*before.messages.view(), *step.added]

"""A prompt that is too long, or media that are refused: shortened once and sent again; the error is shown only if that fails."""

from collections.abc import Sequence

import anyio
import pytest
from msgspec import structs
from msgspec.structs import fields, replace
from tests.loop.scene import Scene
from tests.loop.transitions.test_used_tools import busy_state

from ostinato.context.reactive import ReactiveCompaction, message_tokens
from ostinato.context.strip_media import MediaStripping
from ostinato.errors import ModelError
from ostinato.events import AssistantEvent, SystemEvent
from ostinato.history import History
from ostinato.loop.transitions.overflowed import overflowed
from ostinato.loop.transitions.step import End, Next
from ostinato.messages import Image, Message, Text, UserMessage, assistant_fragment, user_prompt
from ostinato.ports import ModelFacts, ModelRequest, QuerySource
from ostinato.records import AnyEdit, Boundary, Continued
from ostinato.state import Bounds, Overflowed, State
from ostinato.testing import (
    CountingIds,
    Fails,
    Gate,
    Reply,
    ScriptedModel,
    Turn,
    answers,
    call,
    fake_tool,
    say,
    transitions,
)

TOO_LONG = ModelError("prompt is too long", kind="prompt_too_long", status=400, recover="compact")
REFUSED = ModelError("image exceeds 5 MB", kind="media_too_large", status=400, recover="strip_media")


def compacting(scene: Scene) -> Scene:
    scene.shorten = ReactiveCompaction(CountingIds("e").uuid)
    scene.strip_media = MediaStripping(CountingIds("m").uuid)
    return scene


def long_talk(rounds: int = 60) -> list[Message]:
    said: list[Message] = [user_prompt("wish", "the very first wish")]
    for number in range(rounds):
        said.append(assistant_fragment(f"a{number}", f"r{number}", "m", Text("word " * 2_000)))
        said.append(user_prompt(f"p{number}", f"wish {number}"))
    return said


def size(request: ModelRequest) -> int:
    return len(str(request.messages))


def limited_to(characters: int, *turns: Turn) -> ScriptedModel:
    """A model that refuses longer requests."""
    left = list(turns)

    def script(request: ModelRequest, _number: int) -> Turn:
        return Fails(TOO_LONG) if size(request) > characters else left.pop(0)

    return ScriptedModel(script=script)


def errors(scene: Scene) -> list[str]:
    return [e.message.text for e in scene.events if isinstance(e, AssistantEvent) and e.message.is_error]


async def test_a_prompt_that_is_too_long_is_shortened_and_the_caller_sees_no_error():
    scene = compacting(Scene(limited_to(400_000, Reply(say("done"))), before=long_talk()))
    events = await scene.play()
    assert transitions(scene.terminal) == ("reactive_compact_retry",)
    assert scene.terminal.reason == "completed"
    assert errors(scene) == []
    first, second = scene.model.requests
    assert size(second) < size(first)
    assert "the very first wish" in str(second.messages)
    assert "go" in str(second.messages[-1].content)
    (notice,) = [e.message for e in events if isinstance(e, SystemEvent)]
    (boundary,) = [record for record in scene.journal.records if isinstance(record, Boundary)]
    assert notice.subtype == "compact_boundary"
    assert notice.data == {"compact_metadata": {"trigger": "auto", "pre_tokens": boundary.pre_tokens}}
    folded = scene.written
    assert folded.view() == scene.view


async def test_if_that_does_not_help_the_error_comes_once_and_ends_the_query():
    scene = compacting(Scene(limited_to(10), before=long_talk()))
    await scene.play()
    assert transitions(scene.terminal) == ("reactive_compact_retry",)
    assert scene.terminal.reason == "prompt_too_long"
    assert len(errors(scene)) == 1
    assert len(scene.model.requests) == 2


async def test_a_conversation_that_never_fits_does_not_grow_by_its_own_failures():
    view, sizes = long_talk(), list[int]()
    for number in range(4):
        scene = compacting(Scene(limited_to(10), before=view, prompt="go on"))
        await scene.play()
        sizes.append(size(scene.model.requests[-1]))
        view = [
            replaced(message, f"{number}") if message.uuid == "prompt" else message for message in scene.view
        ]
    grown = sizes[-1] - sizes[0]
    assert grown <= 3 * len(str(user_prompt("prompt", "go on")))


def replaced(message: Message, uuid: str) -> Message:
    return structs.replace(message, uuid=uuid)


async def test_after_a_round_of_tools_it_may_be_done_again():
    refusals = {1, 3}

    def script(_request: ModelRequest, number: int) -> Turn:
        if number in refusals:
            return Fails(TOO_LONG)
        return Reply(call("Look", "t1"), say("word " * 40_000)) if number == 2 else Reply(say("done"))

    looks = [fake_tool("Look", answers("x" * 90_000))]
    scene = compacting(Scene(ScriptedModel(script=script), looks, before=long_talk()))
    await scene.play()
    assert transitions(scene.terminal) == ("reactive_compact_retry", "next_turn", "reactive_compact_retry")


async def test_refused_media_give_way_to_notes():
    picture = UserMessage("pic", (Text("see"), Image("image/png", "AAAA")))
    model = ScriptedModel(Fails(REFUSED), Reply(say("I see no picture.")))
    scene = compacting(Scene(model, before=[picture, assistant_fragment("a", "r", "m", Text("ok"))]))
    events = await scene.play()
    assert transitions(scene.terminal) == ("reactive_compact_retry",)
    assert [e.message.subtype for e in events if isinstance(e, SystemEvent)] == ["context_shortened"]
    assert "AAAA" not in str(model.requests[1].messages)
    assert errors(scene) == []


@pytest.mark.parametrize(("error", "reason"), [(TOO_LONG, "prompt_too_long"), (REFUSED, "image_error")])
async def test_where_nothing_can_be_shortened_the_error_comes_at_once(error: ModelError, reason: str):
    scene = compacting(Scene(ScriptedModel(Fails(error))))
    await scene.play()
    assert (scene.terminal.reason, len(errors(scene)), len(scene.model.requests)) == (reason, 1, 1)


async def test_an_abort_while_it_is_shortened_leaves_the_history_as_it_was():
    gate = Gate()

    async def slow(messages: History, error: ModelError | None, model: ModelFacts) -> Sequence[AnyEdit]:
        await gate.wait()
        return ()

    scene = Scene(ScriptedModel(Fails(TOO_LONG)), shorten=slow)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await gate.reached()
        scene.abort.abort("user")
    assert scene.terminal.reason == "aborted_streaming"
    assert not any(isinstance(record, Boundary) for record in scene.journal.records)


# ------------------------------------------------------------------ the State


async def step_of(state: State) -> Next | End:
    scene = compacting(Scene(ScriptedModel()))
    return await overflowed(state, Overflowed(error=TOO_LONG), scene.deps(), None)


def long_state() -> State:
    return replace(
        busy_state(), messages=History.empty().extend(long_talk()), has_attempted_reactive_compact=False
    )


async def test_each_field_of_the_state_is_set():
    before = long_state()
    step = await step_of(before)
    assert isinstance(step, Next)
    expected = {
        "auto_compact_tracking": before.auto_compact_tracking,
        "max_output_tokens_recovery_count": 2,
        "has_attempted_reactive_compact": True,
        "max_output_tokens_override": None,
        "pending_tool_use_summary": None,
        "stop_hook_active": True,
        "turn_count": 7,
        "transition": Continued("reactive_compact_retry", 7),
        "bounds": Bounds(nudges=4),
    }
    assert {name: getattr(step.state, name) for name in expected} == expected
    assert {field.name for field in fields(State)} == {*expected, "messages", "tool_use_context"}
    assert sum(map(message_tokens, step.state.messages)) < sum(map(message_tokens, before.messages))


async def test_it_is_done_once():
    assert isinstance(await step_of(replace(long_state(), has_attempted_reactive_compact=True)), End)


async def test_a_compaction_does_not_compact_itself():
    state = long_state()
    inside = replace(state, tool_use_context=replace(state.tool_use_context, source=QuerySource("compact")))
    assert isinstance(await step_of(inside), End)


async def test_where_all_is_too_long_for_ever_a_new_prompt_adds_itself_and_nothing_else():
    def words(request: ModelRequest) -> list[str]:
        return [block.text for m in request.messages for block in m.content if isinstance(block, Text)]

    scene = compacting(Scene(ScriptedModel.repeating(Fails(TOO_LONG)), before=long_talk()))
    await scene.play()
    last = scene.model.requests[-1]
    for _ in range(3):
        later = compacting(
            Scene(ScriptedModel.repeating(Fails(TOO_LONG)), before=scene.view, prompt="and now?")
        )
        await later.play()
        first = later.model.requests[0]
        assert words(first) == [*words(last), "and now?"]
        sizes = [sum(map(len, words(request))) for request in later.model.requests]
        assert sizes == sorted(sizes, reverse=True)
        scene, last = later, later.model.requests[-1]

"""When a model gives out another takes over for this query: nothing of the first leaks into it, and no effect happens twice."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.loop.failing import GONE, OVERLOADED, PATIENT, limited, notices, patient_scene
from tests.loop.scene import Scene

from ostinato.errors import ModelError
from ostinato.events import AssistantEvent, RequestStart, ResponseUsage, Tombstone
from ostinato.loop.fallback import CoolDowns
from ostinato.messages import (
    AssistantMessage,
    Image,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
    UserMessage,
)
from ostinato.ports import ModelFacts, ModelRequest, QuerySource
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    Fails,
    FakeClock,
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    Turn,
    answers,
    call,
    fake_tool,
    say,
    think,
    transitions,
)

SECOND = replace(SCRIPTED_FACTS, id="second", context_window=100_000)
THIRD = replace(SCRIPTED_FACTS, id="third", provider="elsewhere")

LIMITED = limited(600.0)


def scene(first: Sequence[Turn], *others: ScriptedModel, **more: object) -> Scene:
    return patient_scene(*first, **{"others": list(others), **more})


def second(*turns: Turn, facts: ModelFacts = SECOND) -> ScriptedModel:
    return ScriptedModel(*turns, facts=facts)


def texts(of: Scene) -> list[tuple[str, str]]:
    return [(m.model, m.text) for m in of.view if isinstance(m, AssistantMessage) and m.text]


# ------------------------------------------------------------------ when


async def test_two_overloads_are_waited_out_without_another_model():
    other = second(Reply(say("no")))
    played = scene([Fails(OVERLOADED), Fails(OVERLOADED), Reply(say("here"))], other)
    await played.play()
    assert (texts(played), other.requests) == ([("scripted-1", "here")], [])


async def test_the_third_overload_in_a_row_hands_over_to_the_next_model():
    other = second(Reply(say("here")))
    played = scene([Fails(OVERLOADED)] * 3, other)
    events = await played.play()
    assert played.terminal.reason == "completed"
    assert texts(played) == [("second", "here")]
    assert [event.model for event in events if isinstance(event, RequestStart)] == ["scripted-1"] * 3 + [
        "second"
    ]
    (told,) = notices(events, "model_fallback")
    assert told.level == "warning"
    assert "scripted-1" in told.text
    assert "second" in told.text
    assert told.data == {
        "from_model": "scripted-1",
        "to_model": "second",
        "reason": "too busy",
        "skipped": [],
    }
    assert played.is_same_on_disk


@pytest.mark.parametrize("error", [GONE, LIMITED], ids=["no such model", "a very long wait"])
async def test_a_model_that_will_not_come_back_soon_is_not_waited_for(error: ModelError):
    played = scene([Fails(error)], second(Reply(say("here"))))
    await played.play()
    assert (texts(played), played.clock.slept) == ([("second", "here")], [])


@pytest.mark.parametrize("kind", ["server", "timeout", "stalled", "stream_cut", "malformed_response"])
async def test_a_model_that_fails_until_nothing_is_left_to_try_gives_out_too(kind: str):
    config = QueryConfig(normalise_strictly=True, max_retries=2)
    failing = Fails(ModelError("down", kind=kind, retry=True))  # pyright: ignore[reportArgumentType]
    played = scene([failing] * 3, second(Reply(say("here"))), config=config)
    await played.play()
    assert texts(played) == [("second", "here")]


@pytest.mark.parametrize(
    "error",
    [
        ModelError("wrong key", kind="authentication", status=401, recover="refresh_auth"),
        ModelError("no money", kind="billing", status=402),
        ModelError("bad request", kind="invalid_request", status=400),
        ModelError("no network", kind="connection", retry=True),
    ],
    ids=lambda error: error.kind,
)
async def test_what_is_not_the_models_fault_is_never_answered_by_another(error: ModelError):
    other = second(Reply(say("no")))
    played = scene([Fails(error)] * 10, other)
    await played.play()
    assert (played.terminal.reason, other.requests) == ("model_error", [])


async def test_background_work_takes_no_other_model():
    other = second(Reply(say("no")))
    played = scene([Fails(GONE)], other, source=QuerySource("title"))
    await played.play()
    assert (played.terminal.reason, other.requests) == ("model_error", [])


async def test_the_chain_is_walked_in_its_order_and_then_the_error_is_shown_once():
    chain = [second(*[Fails(OVERLOADED)] * 3), second(Fails(GONE), facts=THIRD)]
    played = scene([Fails(OVERLOADED)] * 3, *chain)
    events = await played.play()
    assert played.terminal.reason == "model_error"
    assert [len(model.requests) for model in (played.model, *chain)] == [3, 3, 1]
    assert len([e for e in events if isinstance(e, AssistantEvent) and e.message.is_error]) == 1


async def test_the_next_query_begins_with_the_first_model_again():
    first = ScriptedModel(*[Fails(OVERLOADED)] * 3, Reply(say("back")))
    chain = [second(Reply(say("here")))]
    said: list[tuple[str, str]] = []
    for _ in range(2):
        played = Scene(first, config=PATIENT, clock=FakeClock(auto_advance=True), others=chain)
        await played.play()
        said += texts(played)
    assert said == [("second", "here"), ("scripted-1", "back")]


# ------------------------------------------------------------------ what the next model gets


async def test_nothing_of_a_reply_that_broke_off_reaches_the_next_model():
    cut = Cut(Reply(say("I will read"), say("more")), after_blocks=1, error=OVERLOADED)

    def only_after_the_user(request: ModelRequest, _number: int) -> Turn:
        return (
            Reply(call("Look", "a"))
            if request.messages[-1].role == "user" and _number == 1
            else Reply(say("ok"))
        )

    log = RunLog()
    other = ScriptedModel(script=only_after_the_user, facts=SECOND)
    tool = fake_tool("Look", answers("42"), log=log)
    played = scene([cut] * 3, other, tools=[tool])
    events = await played.play()
    assert log.started == ("a",)
    shown = [
        e.message.uuid for e in events if isinstance(e, AssistantEvent) and "I will read" in e.message.text
    ]
    assert [event.uuid for event in events if isinstance(event, Tombstone)] == shown
    assert [text for _, text in texts(played)] == ["ok"]
    assert played.is_same_on_disk


async def test_calls_of_the_failed_reply_leave_no_id_behind():
    cut = Cut(Reply(call("Look", "gone"), say("x")), after_blocks=1, error=GONE)
    other = second(Reply(call("Look", "kept")), Reply(say("done")))
    look = fake_tool("Look", answers("42"), is_read_only=True)
    played = scene([cut], other, tools=[look])
    await played.play()
    ids = {
        block.id
        for request in other.requests
        for message in request.messages
        for block in message.content
        if isinstance(block, ToolUse)
    }
    assert ids == {"kept"}


async def test_thinking_that_only_the_first_model_can_read_is_left_out_whole():
    first = [Reply(think("hm", signature="s"), call("Look", "a")), Fails(GONE)]
    other = second(Reply(say("done")))
    played = scene(first, other, tools=[fake_tool("Look", answers("42"))])
    await played.play()
    blocks = [block for message in other.requests[0].messages for block in message.content]
    assert not [block for block in blocks if isinstance(block, Thinking | RedactedThinking)]
    assert [block.id for block in blocks if isinstance(block, ToolUse)] == ["a"]


async def test_the_other_model_stays_for_the_rest_of_the_query():
    other = second(Reply(call("Look", "a")), Reply(say("done")))
    played = scene([Fails(GONE)], other, tools=[fake_tool("Look", answers("42"))])
    await played.play()
    assert (len(played.model.requests), len(other.requests)) == (1, 2)


async def test_once_something_was_done_the_reply_stays_and_the_other_model_goes_on_from_there():
    log, begun = RunLog(), Gate()

    async def opens(_input: object, _context: object) -> None:
        begun.open()

    cut = Cut(Reply(say("I write"), call("Write", "t1"), begun, say("x")), after_blocks=2, error=GONE)
    other = second(Reply(say("done")))
    played = scene([cut], other, tools=[fake_tool("Write", opens, log=log)])
    events = await played.play()
    assert log.started == ("t1",)
    assert transitions(played.terminal) == ("next_turn",)
    assert not any(isinstance(event, Tombstone) for event in events)
    (said, *_) = [m for m in played.view if isinstance(m, AssistantMessage)]
    assert said.is_incomplete
    results = [b.tool_use_id for b in other.requests[0].messages[-1].content if isinstance(b, ToolResult)]
    assert results == ["t1"]
    assert len(notices(events, "response_incomplete")) == 1
    assert texts(played)[-1] == ("second", "done")
    assert played.is_same_on_disk


# ------------------------------------------------------------------ who cannot


IMAGE = UserMessage("image", (Text("look"), Image("image/png", "aGVsbG8=")))
SEEN = AssistantMessage("seen", "r0", "scripted-1", (ToolUse("u1", "Odd", {}),), ("seen",))
ODD = UserMessage("odd", (ToolResult("u1", "x"),), origin="tool_result")


@pytest.mark.parametrize(
    ("facts", "before"),
    [
        (replace(SECOND, takes_images=False), [IMAGE]),
        (replace(SECOND, tool_names=("Look",)), [SEEN, ODD]),
        (replace(SECOND, context_window=1_000), []),
    ],
    ids=["images", "tools", "window"],
)
async def test_a_model_that_cannot_take_the_request_is_passed_over_and_that_is_said(
    facts: ModelFacts, before: list[UserMessage]
):
    unfit, fit = second(facts=facts), second(Reply(say("here")), facts=THIRD)
    played = scene([Fails(GONE)], unfit, fit, before=before)
    events = await played.play()
    assert (texts(played)[-1], unfit.requests) == (("third", "here"), [])
    (told,) = notices(events, "model_fallback")
    assert told.data is not None
    assert [str(why).split()[0] for why in told.data["skipped"]] == ["`second`"]


async def test_where_none_can_take_over_that_is_said_and_the_error_shown():
    played = scene([Fails(GONE)], second(facts=replace(SECOND, context_window=1_000)))
    events = await played.play()
    assert (played.terminal.reason, played.terminal.status) == ("model_error", 404)
    assert len(notices(events, "model_fallback_failed")) == 1


async def test_a_model_of_few_tools_is_offered_only_those():
    other = second(Reply(say("ok")), facts=replace(SECOND, tool_names=("Look",)))
    tools = [fake_tool("Look", answers("1")), fake_tool("Odd", answers("2"))]
    played = scene([Fails(GONE)], other, tools=tools)
    await played.play()
    assert [tool.name for tool in other.requests[0].tools] == ["Look"]


# ------------------------------------------------------------------ cool-downs


async def test_a_model_that_asked_to_be_left_alone_is_not_asked_by_the_next_query_until_then():
    clock, cool_downs = FakeClock(auto_advance=True), CoolDowns()
    first = ScriptedModel(Fails(LIMITED), Reply(say("back")))
    other = second(Reply(say("one")), Reply(say("two")))

    async def answer() -> tuple[str, str]:
        played = Scene(first, config=PATIENT, clock=clock, others=[other], cool_downs=cool_downs)
        await played.play()
        return texts(played)[-1]

    assert await answer() == ("second", "one")
    clock.advance(599)
    assert await answer() == ("second", "two")
    clock.advance(1)
    assert await answer() == ("scripted-1", "back")


async def test_a_cooling_model_is_asked_where_there_is_no_other():
    clock, cool_downs = FakeClock(auto_advance=True), CoolDowns()
    cool_downs.leave_alone(SCRIPTED_FACTS, 100.0)
    played = Scene(ScriptedModel(Reply(say("here"))), config=PATIENT, clock=clock, cool_downs=cool_downs)
    await played.play()
    assert texts(played) == [("scripted-1", "here")]


async def test_a_cooling_model_of_the_chain_is_passed_over():
    cool_downs = CoolDowns()
    cool_downs.leave_alone(SECOND, 100.0)
    played = scene([Fails(GONE)], second(), second(Reply(say("here")), facts=THIRD), cool_downs=cool_downs)
    await played.play()
    assert texts(played) == [("third", "here")]


# ------------------------------------------------------------------ accounts


async def test_usage_is_put_down_to_the_model_that_was_asked():
    used = Usage(100, 20)
    cut = Cut(Reply(say("a"), say("b"), usage=used), after_blocks=1, error=GONE)
    played = scene([cut], second(Reply(say("c"), usage=used)))
    events = await played.play()
    spent = [(e.model, e.usage) for e in events if isinstance(e, ResponseUsage)]
    assert spent == [("scripted-1", Usage(100, 0)), ("second", Usage(100, 20))]
    assert played.terminal.usage == Usage(200, 20)

"""Calls that cannot be read are never run and end a query that brings nothing else; a call id names one call, whoever made it up."""

import pytest
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.events import AssistantEvent, Tombstone, UserEvent
from ostinato.loop.results import invalid_json
from ostinato.messages import AssistantMessage, ToolResult, ToolUse, Usage, UserMessage
from ostinato.state import QueryConfig
from ostinato.testing import (
    Cut,
    FakeClock,
    Reply,
    RunLog,
    ScriptedModel,
    Started,
    Turn,
    broken_call,
    call,
    fake_tool,
    say,
    transitions,
)

CUT = '{"path": "a'
WAYS = [STRICT, replace(STRICT, streaming_tool_execution=False)]


def cut_call(number: int) -> Reply:
    return Reply(broken_call("Look", f"t{number}", CUT))


def results(scene: Scene) -> list[ToolResult]:
    return [
        block
        for message in scene.view
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult)
    ]


def inputs(log: RunLog) -> list[object]:
    return [entry.input for entry in log.entries if isinstance(entry, Started)]


@pytest.mark.parametrize("config", WAYS, ids=["streaming", "classic"])
@pytest.mark.parametrize("text", [CUT, "", "[1]", "null", "{'a': 1}", '{"a": 1}}'])
async def test_what_is_no_object_is_never_run(text: str, config: QueryConfig):
    log = RunLog()
    model = ScriptedModel(Reply(broken_call("Look", "t1", text)), Reply(say("done")))
    scene = Scene(model, [fake_tool("Look", log=log)], config=config)
    await scene.play()
    assert log.entries == []
    assert [result.is_error for result in results(scene)] == [True]
    assert scene.terminal.reason == "completed"


async def test_three_replies_in_a_row_that_cannot_be_read_end_the_query():
    scene = Scene(ScriptedModel(*(cut_call(n) for n in range(3))), [fake_tool("Look")])
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn", "next_turn")
    assert scene.terminal.reason == "malformed_tool_use_exhausted"
    assert scene.terminal.error
    assert scene.terminal.hint
    errors = [e for e in scene.events if isinstance(e, AssistantEvent) and e.message.is_error]
    assert len(errors) == 1
    assert len(results(scene)) == 3  # the model was told each time, and may be told again


async def test_the_turn_limit_does_not_hide_why_it_ended():
    scene = Scene(ScriptedModel(*(cut_call(n) for n in range(3))), [fake_tool("Look")], max_turns=3)
    await scene.play()
    assert scene.terminal.reason == "malformed_tool_use_exhausted"


async def test_a_call_that_can_be_read_starts_the_count_again_also_beside_one_that_cannot():
    model = ScriptedModel(
        cut_call(0),
        cut_call(1),
        Reply(call("Look", "t2"), broken_call("Look", "t3", CUT)),
        cut_call(4),
        cut_call(5),
        Reply(say("done")),
    )
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert scene.terminal.reason == "completed"


async def test_a_call_of_an_attempt_that_was_taken_back_is_no_progress():
    def script(_request: object, number: int) -> Turn:
        if number % 2:
            return Cut(Reply(call("Look", f"t{number}"), say("and")), after_blocks=1)
        return cut_call(number)

    scene = Scene(
        ScriptedModel(script=script),
        [fake_tool("Look", is_read_only=True)],
        config=replace(STRICT, max_retries=1),
        clock=FakeClock(auto_advance=True),
    )
    await scene.play()
    assert scene.terminal.reason == "malformed_tool_use_exhausted"
    assert len(scene.model.requests) == 6


async def test_the_conversation_can_go_on_after_it():
    scene = Scene(ScriptedModel(*(cut_call(n) for n in range(3))), [fake_tool("Look")])
    await scene.play()
    later = Scene(ScriptedModel(Reply(say("yes"))), [fake_tool("Look")], before=scene.view, prompt="again")
    await later.play()  # the strict model refuses an illegal history
    assert later.terminal.reason == "completed"


def test_the_model_is_told_that_arguments_broke_off_only_where_they_did():
    assert "breaks off after 11 characters" in invalid_json("Look", CUT)
    assert "breaks off" not in invalid_json("Look", "{'a': 1}")


# ------------------------------------------------------------------------------------------------ cut at the output limit

ESCALATED = "max_output_tokens_escalate"


def limited(number: int, *, says_so: bool = True, used: int = 20) -> Reply:
    """A reply that was cut in its call; a server may say that, or only show it by the tokens used."""
    return Reply(
        say("writing:"),
        broken_call("Write", f"t{number}", CUT),
        stop_reason="max_tokens" if says_so else "tool_use",
        usage=Usage(100, used),
    )


@pytest.mark.parametrize(
    "first", [limited(1), limited(1, says_so=False, used=32_000)], ids=["said", "shown by the tokens used"]
)
async def test_a_call_cut_at_the_output_limit_is_asked_for_again_with_more_room(first: Reply):
    log = RunLog()
    model = ScriptedModel(first, Reply(call("Write", "t1", path="a")), Reply(say("done")))
    scene = Scene(model, [fake_tool("Write", log=log)])
    events = await scene.play()
    assert transitions(scene.terminal) == (ESCALATED, "next_turn")
    assert [request.max_output_tokens for request in model.requests] == [32_000, 64_000, 32_000]
    assert list(model.requests[1].messages) == list(model.requests[0].messages)
    assert inputs(log) == [{"path": "a"}]
    shown = [e.message.uuid for e in events if isinstance(e, AssistantEvent | UserEvent)]
    assert [e.uuid for e in events if isinstance(e, Tombstone)] == shown[:3]  # text, call and its error
    assert scene.written.view() == scene.view


async def test_a_call_that_fits_no_limit_is_explained_to_the_model_and_given_up_after_three():
    scene = Scene(ScriptedModel(script=lambda _request, number: limited(number)), [fake_tool("Write")])
    await scene.play()
    assert transitions(scene.terminal) == (ESCALATED, "next_turn", ESCALATED, "next_turn", ESCALATED)
    assert scene.terminal.reason == "malformed_tool_use_exhausted"
    assert len(results(scene)) == 3
    assert "breaks off" in str(scene.model.requests[-1].messages)


async def test_a_limit_of_the_caller_is_not_raised_for_a_cut_call():
    scene = Scene(
        ScriptedModel(limited(1), Reply(say("done"))), [fake_tool("Write")], max_output_tokens=1_000
    )
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn",)


async def test_a_reply_whose_other_call_ran_is_not_said_again():
    model = ScriptedModel(
        Reply(call("Write", "t0"), broken_call("Write", "t1", CUT), stop_reason="max_tokens"),
        Reply(say("done")),
    )
    scene = Scene(model, [fake_tool("Write")])
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn",)


# ------------------------------------------------------------------------------------------------ ids


@pytest.mark.parametrize("config", WAYS, ids=["streaming", "classic"])
async def test_calls_with_one_id_or_none_run_once_each_and_get_ids_of_their_own(config: QueryConfig):
    log = RunLog()
    blocks = (
        call("Read", "x", path="f1"),
        call("Read", "x", path="f2"),
        call("Read", "", path="f3"),
        call("Read", "", path="f4"),
    )
    scene = Scene(
        ScriptedModel(Reply(*blocks), Reply(say("done"))), [fake_tool("Read", log=log)], config=config
    )
    await scene.play()
    assert sorted(str(one) for one in inputs(log)) == [str({"path": f"f{n}"}) for n in range(1, 5)]
    asked = [block for block in scene.model.requests[1].messages[1].content if isinstance(block, ToolUse)]
    assert [block.input["path"] for block in asked] == ["f1", "f2", "f3", "f4"]
    assert len({block.id for block in asked}) == 4
    assert all(block.id for block in asked)
    assert [result.tool_use_id for result in results(scene)] == [block.id for block in asked]


@pytest.mark.parametrize("config", WAYS, ids=["streaming", "classic"])
async def test_the_same_call_sent_twice_in_one_reply_runs_once(config: QueryConfig):
    log = RunLog()
    same = call("Write", "x", path="f1")
    model = ScriptedModel(Reply(same, call("Write", "x", path="f2"), same), Reply(say("done")))
    scene = Scene(model, [fake_tool("Write", log=log)], config=config)
    await scene.play()
    assert inputs(log) == [{"path": "f1"}, {"path": "f2"}]
    assert len(results(scene)) == 2


async def test_ids_that_every_reply_uses_again_name_different_calls():
    """Some servers count calls from zero in each reply."""
    log = RunLog()
    rounds = [Reply(call("Read", "call_0", path=f"f{n}")) for n in range(3)]
    scene = Scene(ScriptedModel(*rounds, Reply(say("done"))), [fake_tool("Read", log=log)])
    await scene.play()
    assert len(inputs(log)) == 3
    ids = [
        use.id for message in scene.view if isinstance(message, AssistantMessage) for use in message.tool_uses
    ]
    assert len(set(ids)) == 3
    assert [result.tool_use_id for result in results(scene)] == ids
    shown = [event.message.content[0] for event in scene.events if isinstance(event, UserEvent)]
    assert [block.tool_use_id for block in shown if isinstance(block, ToolResult)] == ids


async def test_an_id_of_an_earlier_query_is_not_used_again():
    first = Scene(ScriptedModel(Reply(call("Read", "call_0")), Reply(say("a"))), [fake_tool("Read")])
    await first.play()
    later = Scene(
        ScriptedModel(Reply(call("Read", "call_0")), Reply(say("b"))),
        [fake_tool("Read")],
        before=[message for message in first.view if message.uuid != "prompt"],
    )
    await later.play()  # the strict model refuses an illegal history
    assert later.terminal.reason == "completed"
    assert len(results(later)) == 2


async def test_a_legal_id_that_is_free_is_kept():
    scene = Scene(
        ScriptedModel(Reply(call("Read", "functions.Read:0")), Reply(say("a"))), [fake_tool("Read")]
    )
    await scene.play()
    assert [result.tool_use_id for result in results(scene)] == ["functions.Read:0"]

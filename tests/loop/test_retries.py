"""A model call that failed is made again while that is safe: nothing of the failed one stays, and no effect happens twice."""

import anyio
import pytest
from msgspec.structs import replace
from tests.loop.failing import OVERLOADED, patient_scene
from tests.loop.scene import Scene

from ostinato.errors import ModelError
from ostinato.events import AssistantEvent, RequestStart, SystemEvent, Tombstone, UserEvent
from ostinato.loop.budget import MIN_OUTPUT_TOKENS
from ostinato.loop.retry_policy import (
    LONGEST_WISH_S,
    MARGIN_TOKENS,
    fitting,
    in_one_piece,
    shortened,
    wait_before_retry_s,
)
from ostinato.messages import AssistantMessage, ToolResult, Usage, UserMessage
from ostinato.ports import ModelRequest, QuerySource
from ostinato.records import Attempt
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    Fails,
    FakeClock,
    Gate,
    Reply,
    RunLog,
    ScriptedModel,
    answers,
    call,
    fake_tool,
    say,
    transitions,
    waits_at,
)


def outcomes(of: Scene) -> list[str]:
    return [record.outcome for record in of.journal.records if isinstance(record, Attempt)]


def opens(gate: Gate):
    """A tool behaviour: the reply goes on once the call runs."""

    async def behave(_input: object, _context: object) -> None:
        gate.open()

    return behave


def texts(of: Scene) -> list[str]:
    return [message.text for message in of.view if isinstance(message, AssistantMessage)]


# ------------------------------------------------------------------ again, or not


async def test_a_failure_that_passes_is_waited_out_and_the_very_same_request_sent_again():
    played = patient_scene(Fails(OVERLOADED), Fails(OVERLOADED), Reply(say("here")))
    events = await played.play()
    first, *others = played.model.requests
    assert others == [first, first]
    assert played.clock.slept == [0.5, 1.0]
    assert outcomes(played) == ["overloaded", "overloaded", "ok"]
    notices = [event.message for event in events if isinstance(event, SystemEvent)]
    assert [(notice.subtype, notice.level) for notice in notices] == [("api_retry", "warning")] * 2
    assert played.terminal.reason == "completed"
    assert transitions(played.terminal) == ()
    assert len([event for event in events if isinstance(event, RequestStart)]) == 3
    assert played.is_same_on_disk


async def test_after_all_retries_the_error_is_shown_once():
    played = patient_scene(*(Fails(OVERLOADED) for _ in range(10)))
    events = await played.play()
    assert len(played.model.requests) == 10
    assert played.terminal.reason == "model_error"
    assert len([e for e in events if isinstance(e, AssistantEvent) and e.message.is_error]) == 1


async def test_a_failure_that_will_not_pass_is_shown_at_once():
    played = patient_scene(Fails(ModelError("wrong key", kind="authentication", status=401)))
    await played.play()
    assert (played.terminal.error_kind, played.clock.slept) == ("authentication", [])


async def test_an_abort_ends_the_wait_at_once():
    played = patient_scene(Fails(OVERLOADED), clock=FakeClock())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(played.play)
        await played.clock.until_sleeping()
        played.abort.abort("user")
    assert played.terminal.reason == "aborted_streaming"
    assert len(played.model.requests) == 1


async def test_retries_are_no_turns():
    played = patient_scene(Fails(OVERLOADED), Reply(say("a")), max_turns=1)
    await played.play()
    assert (played.terminal.reason, played.terminal.turn_count) == ("completed", 1)


# ------------------------------------------------------------------ a reply that breaks off


async def test_before_its_first_block_nothing_was_shown_that_must_be_taken_back():
    played = patient_scene(Cut(Reply(say("half")), after_events=3), Reply(say("whole")))
    events = await played.play()
    assert not any(isinstance(event, Tombstone) for event in events)
    assert texts(played) == ["whole"]


async def test_what_was_shown_is_taken_back_and_said_again():
    played = patient_scene(
        Cut(Reply(say("one"), say("two"), say("three")), after_blocks=2), Reply(say("whole"))
    )
    events = await played.play()
    shown = [event.message.uuid for event in events if isinstance(event, AssistantEvent)]
    assert [event.uuid for event in events if isinstance(event, Tombstone)] == shown[:2]
    first, second = played.model.requests
    assert second == first
    assert texts(played) == ["whole"]
    assert played.is_same_on_disk


async def test_read_only_calls_of_a_broken_reply_are_taken_back_with_their_results():
    cut = Cut(Reply(call("Look", "t1"), call("Look", "t2"), say("x"), say("y")), after_blocks=3)
    log = RunLog()
    played = patient_scene(
        cut,
        Reply(call("Look", "t3")),
        Reply(say("done")),
        tools=[fake_tool("Look", answers("42"), is_read_only=True, log=log)],
    )
    events = await played.play()
    assert transitions(played.terminal) == ("next_turn",)
    assert played.model.requests[1] == played.model.requests[0]
    sent = [b.tool_use_id for b in played.model.requests[2].messages[-1].content if isinstance(b, ToolResult)]
    assert sent == ["t3"]
    gone = {event.uuid for event in events if isinstance(event, Tombstone)}
    seen = [e.message.uuid for e in events if isinstance(e, AssistantEvent | UserEvent)]
    assert gone == set(seen[: seen.index(next(uuid for uuid in seen if uuid not in gone))])
    assert log.running == frozenset()
    assert played.is_same_on_disk


async def test_a_read_only_call_that_still_runs_is_stopped_before_the_reply_is_asked_for_again():
    log, begun = RunLog(), Gate()
    cut = Cut(Reply(call("Look", "t1"), begun, say("x")), after_blocks=1)
    look = fake_tool("Look", opens(begun), waits_at(Gate()), is_read_only=True, log=log)
    played = patient_scene(cut, Reply(say("done")), tools=[look])
    await played.play()
    assert log.ending_of("t1") == "cancelled"
    assert not [m for m in played.view if isinstance(m, UserMessage) and m.origin == "tool_result"]
    assert texts(played) == ["done"]
    assert played.is_same_on_disk


async def test_once_a_call_with_side_effects_has_begun_the_reply_is_kept_and_the_query_goes_on():
    log, begun = RunLog(), Gate()
    cut = Cut(Reply(call("Write", "t1"), begun, say("x")), after_blocks=1)
    played = patient_scene(cut, Reply(say("done")), tools=[fake_tool("Write", opens(begun), log=log)])
    events = await played.play()
    assert log.started == ("t1",)
    assert transitions(played.terminal) == ("next_turn",)
    assert not any(isinstance(event, Tombstone) for event in events)
    results = [
        b.tool_use_id for b in played.model.requests[1].messages[-1].content if isinstance(b, ToolResult)
    ]
    assert results == ["t1"]


async def test_after_three_broken_replies_the_fourth_is_asked_for_in_one_piece():
    cut = Cut(Reply(say("half")), after_events=2)
    played = patient_scene(cut, cut, cut, Reply(say("whole")))
    await played.play()
    assert [request.wants_stream for request in played.model.requests] == [True, True, True, False]


async def test_usage_is_that_of_all_attempts():
    used = Usage(100, 20)
    played = patient_scene(
        Cut(Reply(say("a"), say("b"), usage=used), after_blocks=1), Reply(say("c"), usage=used)
    )
    await played.play()
    assert played.terminal.usage == Usage(200, 20)  # of the broken one, what it said at its start


# ------------------------------------------------------------------ an output that does not fit


def overflow(**sizes: int) -> ModelError:
    error = ModelError("too much output", kind="output_overflow", status=400, recover="shrink_output")
    return error.sized(
        input_tokens=sizes.get("input"),
        limit_tokens=sizes.get("window"),
        output_limit_tokens=sizes.get("output"),
    )


async def test_an_output_limit_that_does_not_fit_is_lowered_to_what_fits_and_sent_at_once():
    played = patient_scene(Fails(overflow(input=65_537, window=90_000)), Reply(say("a")))
    await played.play()
    wanted = [request.max_output_tokens for request in played.model.requests]
    assert wanted == [32_000, 90_000 - 65_537 - MARGIN_TOKENS]
    assert played.clock.slept == []


async def test_a_reply_cut_at_the_lowered_limit_is_not_said_again_with_a_higher_one():
    cut = Reply(say("a"), stop_reason="max_tokens")
    played = patient_scene(Fails(overflow(output=4_096)), cut, Reply(say("b")))
    await played.play()
    assert transitions(played.terminal) == ("max_output_tokens_recovery",)


async def test_a_reply_is_never_asked_for_that_the_window_has_no_room_for():
    small = replace(SCRIPTED_FACTS, context_window=40_000, max_output_tokens=8_000)
    talk = [
        *[
            Reply(call("Look", f"t{n}"), usage=Usage(used, 0))
            for n, used in enumerate((20_000, 30_000, 34_000, 37_000))
        ],
        Reply(say("done")),
    ]
    played = Scene(ScriptedModel(*talk, facts=small), [fake_tool("Look")])
    await played.play()
    wanted = [request.max_output_tokens for request in played.model.requests]
    assert wanted[:3] == [8_000] * 3
    assert 5_800 < wanted[3] < 6_000
    assert 2_800 < wanted[4] < 3_000


async def test_a_reply_cut_for_want_of_room_is_not_said_again_but_gone_on_with():
    small = replace(SCRIPTED_FACTS, context_window=40_000)
    cut = Reply(say("a"), stop_reason="max_tokens", usage=Usage(20_000, 10_000))
    played = Scene(
        ScriptedModel(Reply(call("Look", "t1"), usage=Usage(20_000, 0)), cut, Reply(say("b")), facts=small)
    )
    played.tools = [fake_tool("Look")]
    await played.play()
    assert transitions(played.terminal) == ("next_turn", "max_output_tokens_recovery")


@pytest.mark.parametrize("input_tokens", [0, 50_000, 100_000])
def test_a_limit_that_fits_the_window_stays(input_tokens: int):
    assert fitting(REQUEST, input_tokens, 200_000) is REQUEST


@pytest.mark.parametrize("input_tokens", [100_001, 190_000, 199_000, 199_999])
def test_input_and_output_fit_the_window_as_long_as_an_answer_is_worth_its_input(input_tokens: int):
    allowed = fitting(REQUEST, input_tokens, 200_000).max_output_tokens
    assert allowed == max(200_000 - input_tokens - MARGIN_TOKENS, MIN_OUTPUT_TOKENS)


def test_what_does_not_seem_to_fit_at_all_is_left_to_its_provider_to_judge():
    assert fitting(REQUEST, 200_000, 200_000) is REQUEST


@pytest.mark.parametrize(
    "errors",
    [
        [overflow()],
        [overflow(input=89_999, window=90_000)],
        [overflow(output=4_096), overflow(output=2_048)],
    ],
    ids=["no sizes", "no room", "twice"],
)
async def test_where_lowering_does_not_help_the_prompt_is_too_long(errors: list[ModelError]):
    played = patient_scene(*(Fails(error) for error in errors))
    await played.play()
    assert played.terminal.reason == "prompt_too_long"


# ------------------------------------------------------------------ the numbers

MAIN = QuerySource("main")


def waits(
    error: ModelError, *, source: QuerySource = MAIN, jitter: float = 0.0, retries: int = 10
) -> list[float]:
    found: list[float] = []
    for failures in range(1, 20):
        wait_s = wait_before_retry_s(error, failures, source, max_retries=retries, jitter=jitter)
        if wait_s is None:
            break
        found.append(wait_s)
    return found


def test_waits_double_up_to_half_a_minute():
    assert waits(OVERLOADED) == [0.5, 1, 2, 4, 8, 16, 32, 32, 32, 32]


def test_waits_are_spread_by_up_to_a_quarter():
    assert waits(OVERLOADED, jitter=1.0)[:3] == [0.625, 1.25, 2.5]


@pytest.mark.parametrize(("wish_s", "first"), [(0.1, 0.5), (7.0, 7.0), (LONGEST_WISH_S, LONGEST_WISH_S)])
def test_a_server_may_wish_for_a_longer_wait_but_not_for_a_shorter_one(wish_s: float, first: float):
    error = ModelError("slow down", kind="rate_limit", status=429, retry=True, retry_after_s=wish_s)
    assert waits(error)[0] == first


def test_a_server_that_wishes_for_a_very_long_wait_is_not_waited_for():
    error = ModelError(
        "slow down", kind="rate_limit", status=429, retry=True, retry_after_s=LONGEST_WISH_S + 1
    )
    assert waits(error) == []


def test_background_work_does_not_add_to_an_overload_but_is_tried_again_otherwise():
    background = QuerySource("title")
    assert waits(OVERLOADED, source=background) == []
    assert len(waits(ModelError("down", kind="server", status=500, retry=True), source=background)) == 10


def test_no_retries_are_none():
    assert waits(OVERLOADED, retries=0) == []


REQUEST = ModelRequest(
    "m", (), (), (), 100_000, MAIN, Scene(ScriptedModel()).params().tool_use_context.tracking
)


def test_a_reply_in_one_piece_is_no_longer_than_it_may_be():
    whole = in_one_piece(REQUEST)
    assert (whole.wants_stream, whole.max_output_tokens) == (False, 64_000)


def test_a_limit_is_never_raised_by_an_overflow():
    assert shortened(REQUEST, overflow(output=200_000)) is None


async def test_what_a_retry_has_taken_back_is_not_taken_back_once_more_when_the_reply_is_said_again():
    cut = Cut(Reply(say("one"), say("two")), after_blocks=1)
    limited = Reply(say("three"), stop_reason="max_tokens")
    played = patient_scene(cut, limited, Reply(say("all")))
    events = await played.play()
    buried = [event.uuid for event in events if isinstance(event, Tombstone)]
    assert len(buried) == len(set(buried)) == 2
    assert texts(played) == ["all"]

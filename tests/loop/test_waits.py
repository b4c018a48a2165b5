"""What a failing model call looks like from outside: each wait is told in words and numbers, none is longer than it makes sense,
and where nobody looks the wait is long and shows signs of life.
"""

from datetime import timedelta

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace
from tests.loop.failing import GONE, OVERLOADED, WRONG_KEY, limited, notices, patient_scene

from ostinato.errors import ModelError, ModelErrorKind
from ostinato.loop.retry_policy import (
    HEARTBEAT_S,
    UNATTENDED_LONGEST_WAIT_S,
    UNATTENDED_LONGEST_WISH_S,
    UNATTENDED_RETRIES,
    pieces_of,
    wait_before_retry_s,
)
from ostinato.messages import SystemMessage
from ostinato.ports import QuerySource
from ostinato.records import Attempt
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    DenyAll,
    Fails,
    FakeClock,
    Reply,
    ScriptedModel,
    answers,
    call,
    fake_tool,
    say,
)
from ostinato.testing.fake_clock import FIRST_MOMENT

UNATTENDED = QueryConfig(normalise_strictly=True, is_unattended=True)

# ------------------------------------------------------------------ each wait is told


async def test_each_wait_is_told_in_numbers_before_it_begins():
    played = patient_scene(Fails(OVERLOADED), Fails(limited(20.0)), Reply(say("here")))
    events = await played.play()
    assert [message.data for message in notices(events, "api_retry")] == [
        {"attempt": 1, "max_retries": 9, "retry_delay_ms": 500, "error_status": 529, "error": "overloaded"},
        {
            "attempt": 2,
            "max_retries": 9,
            "retry_delay_ms": 20_000,
            "error_status": 429,
            "error": "rate_limit",
        },
    ]
    assert played.clock.slept == [0.5, 20.0]


async def test_a_wait_too_long_to_sit_through_is_shown_with_the_moment_it_ends():
    played = patient_scene(Fails(limited(7_200.0)))
    await played.play()
    assert (played.terminal.error_kind, played.clock.slept) == ("rate_limit", [])
    moment = (FIRST_MOMENT + timedelta(hours=2)).astimezone()
    assert f"{moment:%Y-%m-%d %H:%M:%S}" in played.terminal.hint


@pytest.mark.parametrize(
    "kind", ["timeout", "stalled", "connection", "stream_cut", "malformed_response", "server", "rate_limit"]
)
async def test_every_way_of_a_server_to_be_silent_or_broken_is_tried_again(kind: ModelErrorKind):
    played = patient_scene(Fails(ModelError("broken", kind=kind, retry=True)), Reply(say("here")))
    await played.play()
    assert (played.terminal.reason, len(played.model.requests)) == ("completed", 2)


async def test_a_server_that_says_nothing_sensible_is_not_asked_for_long():
    garbled = Fails(ModelError("garbled", kind="malformed_response", retry=True))
    played = patient_scene(*[garbled] * 3)
    await played.play()
    assert (played.terminal.error_kind, len(played.model.requests)) == ("malformed_response", 3)


# ------------------------------------------------------------------ nobody is there


async def test_where_nobody_looks_overload_is_waited_out_without_end():
    played = patient_scene(*[Fails(OVERLOADED)] * 40, Reply(say("here")), config=UNATTENDED)
    await played.play()
    assert (played.terminal.reason, len(played.model.requests)) == ("completed", 41)
    assert max(played.clock.slept) <= HEARTBEAT_S


async def test_a_long_wait_shows_signs_of_life_that_are_not_stored():
    played = patient_scene(Fails(limited(100.0)), Reply(say("here")), config=UNATTENDED)
    events = await played.play()
    beats = [
        message.data["retry_delay_ms"] for message in notices(events, "api_retry_heartbeat") if message.data
    ]
    assert beats == [70_000, 40_000, 10_000]
    assert played.clock.slept == [30.0, 30.0, 30.0, 10.0]
    assert not [
        r for r in played.journal.records if isinstance(r, SystemMessage) and "heartbeat" in r.subtype
    ]


async def test_an_attempt_of_nobody_is_counted_and_not_called_the_last():
    config = QueryConfig(normalise_strictly=True, is_unattended=True, max_retries=1)
    played = patient_scene(*[Fails(OVERLOADED)] * 4, Reply(say("here")), config=config)
    told = notices(await played.play(), "api_retry")
    assert [notice.data["attempt"] for notice in told if notice.data] == [1, 2, 3, 4]
    assert all(notice.data["attempt"] <= notice.data["max_retries"] for notice in told if notice.data)
    assert not any(" of " in notice.text for notice in told)


async def test_an_abort_ends_an_endless_wait_at_once():
    played = patient_scene(Fails(limited(1_000.0)), clock=FakeClock(), config=UNATTENDED)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(played.play)
        await played.clock.until_sleeping()
        played.abort.abort("user")
    assert played.terminal.reason == "aborted_streaming"


def wait_s(error: ModelError, failures: int) -> float | None:
    return wait_before_retry_s(
        error, failures, QuerySource("main"), max_retries=9, jitter=0.0, is_unattended=True
    )


def test_the_waits_of_nobody_are_bounded_each():
    assert wait_s(OVERLOADED, 5_000) == UNATTENDED_LONGEST_WAIT_S
    assert wait_s(limited(10_000_000.0), 1) == UNATTENDED_LONGEST_WISH_S
    assert pieces_of(70.0) == (30.0, 30.0, 10.0)


def test_what_time_does_not_cure_ends_even_there():
    server = ModelError("down", kind="server", status=500, retry=True)
    assert wait_s(server, UNATTENDED_RETRIES) is not None
    assert wait_s(server, UNATTENDED_RETRIES + 1) is None
    assert wait_s(ModelError("no money", kind="billing", status=402), 1) is None


# ------------------------------------------------------------------ a new key


class Keys:
    """Somebody who may know a new key."""

    def __init__(self, *, knows: bool) -> None:
        self.asked = 0
        self._knows = knows

    async def refresh(self) -> bool:
        await anyio.lowlevel.checkpoint()
        self.asked += 1
        return self._knows


async def test_a_refused_key_is_refreshed_and_the_request_sent_again():
    keys = Keys(knows=True)
    played = patient_scene(Fails(WRONG_KEY), Reply(say("here")), refresh_auth=keys.refresh)
    await played.play()
    assert (played.terminal.reason, keys.asked, played.clock.slept) == ("completed", 1, [])


@pytest.mark.parametrize("knows", [True, False], ids=["refused again", "no new key"])
async def test_a_key_is_asked_for_once(knows: bool):
    keys = Keys(knows=knows)
    played = patient_scene(*[Fails(WRONG_KEY)] * 3, refresh_auth=keys.refresh)
    await played.play()
    assert (played.terminal.error_kind, keys.asked) == ("authentication", 1)
    assert len(played.model.requests) == 1 + knows


async def test_each_model_has_a_key_of_its_own_and_is_never_given_another_ones():
    own, others = Keys(knows=True), Keys(knows=True)
    second = ScriptedModel(Fails(WRONG_KEY), Reply(say("here")), facts=replace(SCRIPTED_FACTS, id="second"))
    turns = [Fails(WRONG_KEY), Fails(GONE)]
    played = patient_scene(*turns, refresh_auth=own.refresh, refresh_others=others.refresh, others=[second])
    await played.play()
    assert (played.terminal.reason, own.asked, others.asked) == ("completed", 1, 1)
    assert len(second.requests) == 2


async def test_for_a_model_whose_key_nobody_knows_nobody_is_asked():
    own = Keys(knows=True)
    second = ScriptedModel(Fails(WRONG_KEY), Reply(say("no")), facts=replace(SCRIPTED_FACTS, id="second"))
    played = patient_scene(Fails(GONE), refresh_auth=own.refresh, others=[second])
    await played.play()
    assert (played.terminal.error_kind, own.asked, len(second.requests)) == ("authentication", 0, 1)


# ------------------------------------------------------------------ what is taken back is not forgotten


async def test_a_denial_stays_listed_though_its_reply_is_taken_back():
    cut = Cut(Reply(call("Look", "t1"), say("x")), after_blocks=2)
    look = fake_tool("Look", answers("42"))
    played = patient_scene(cut, Reply(say("done")), tools=[look], permissions=DenyAll())
    await played.play()
    assert [denial.tool_use_id for denial in played.terminal.denials] == ["t1"]


async def test_attempts_that_broke_are_written_with_what_they_used():
    played = patient_scene(Fails(OVERLOADED), Reply(say("here")))
    await played.play()
    assert [(r.outcome, r.status) for r in played.journal.records if isinstance(r, Attempt)] == [
        ("overloaded", 529),
        ("ok", None),
    ]

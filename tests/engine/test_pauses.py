"""A resumed conversation knows how long it was left alone, and acts on that as one does that stayed open."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.context.talks import EMPTY, FACTS, history, prose, round_of

from ostinato import Options
from ostinato.cache_breaks import KEPT_S, Replied
from ostinato.codec import FORMAT, Envelope, encode_line
from ostinato.context.microcompact import IDLE_S, KEPT_WHEN_IDLE
from ostinato.engine.assemble import open_engine
from ostinato.engine.cache_watching import CacheWatching
from ostinato.engine.context_pipeline import ContextPipeline, ContextSources
from ostinato.engine.last_pass import LastPass, monotonic_s_of
from ostinato.engine.seen_files import SeenFiles
from ostinato.events import SystemEvent
from ostinato.history import History
from ostinato.journal.places import data_root
from ostinato.journal.read import read_session, scan
from ostinato.journal.sessions import start_session
from ostinato.journal.write import SessionWriter
from ostinato.messages import Message, Usage
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import ModelFacts, ModelRequest, QuerySource, QueryTracking
from ostinato.records import Record, ReplaceResult, ResponseEnded, SessionStarted
from ostinato.testing import (
    SCRIPTED_FACTS,
    CountingIds,
    FakeClock,
    FakeWorkspace,
    Reply,
    ScriptedModel,
    say,
)

LONG_S = 2 * IDLE_S
CACHED = Usage(50, 100, cache_read_input_tokens=80_000, cache_creation_input_tokens=1_000)
LOST = Usage(50, 100, cache_creation_input_tokens=81_500)


def rounds(count: int = 9) -> list[Message]:
    return [message for n in range(count) for message in round_of(f"c{n}", prose(2_000, f"r{n}"))]


# ------------------------------------------------------------------------------------------------ since when


def test_a_pause_lasts_from_the_last_reply_of_the_run_before_and_then_from_pass_to_pass():
    clock = FakeClock()
    last = LastPass(clock.now() - timedelta(seconds=LONG_S))
    assert last.idle_s(clock.now()) == LONG_S
    clock.advance(5)
    assert last.idle_s(clock.now()) == 5


def test_where_nobody_answered_before_no_pause_is_known():
    clock = FakeClock()
    last = LastPass()
    assert last.idle_s(clock.now()) is None
    clock.advance(5)
    assert last.idle_s(clock.now()) == 5
    assert monotonic_s_of(None, clock) is None


def test_a_clock_that_was_set_back_makes_a_pause_unknown_and_the_next_one_is_known_again():
    clock = FakeClock()
    ahead = clock.now() + timedelta(days=1)
    assert monotonic_s_of(ahead, clock) is None
    last = LastPass(ahead)
    assert last.idle_s(clock.now()) is None
    clock.advance(7)
    assert last.idle_s(clock.now()) == 7


# ------------------------------------------------------------------------------------------------ old results


def pipeline(clock: FakeClock, last: LastPass) -> ContextPipeline:
    sources = ContextSources(
        FakeWorkspace(Path("/")),
        SeenFiles(),
        (),
        clock,
        CountingIds("e"),
        may_read=lambda _: True,
        whole_path=None,
        auto_compact=False,
        last_pass=last,
    )
    return ContextPipeline(sources)


async def cleared(stages: ContextPipeline, of: History) -> list[str]:
    return [edit.tool_use_id for edit in await stages(of, EMPTY) if isinstance(edit, ReplaceResult)]


@pytest.mark.parametrize(("idle_s", "clears"), [(IDLE_S, True), (IDLE_S - 1, False), (-LONG_S, False)])
async def test_after_a_resume_old_results_are_cleared_for_a_pause_as_in_a_conversation_that_stayed_open(
    idle_s: float, clears: bool
):
    clock, of = FakeClock(), history(*rounds())
    stayed = pipeline(clock, LastPass())
    assert await cleared(stayed, of) == []
    before = clock.now()
    clock.advance(idle_s)
    expected = [f"c{n}" for n in range(9 - KEPT_WHEN_IDLE)] if clears else []
    assert await cleared(stayed, of) == expected
    assert await cleared(pipeline(clock, LastPass(before)), of) == expected


# ------------------------------------------------------------------------------------------------ the provider's cache


def replied(of: History, usage: Usage, began_s: float, model: str = "m") -> Replied:
    request = ModelRequest(
        model,
        ("You are one.",),
        Normaliser(FACTS).request_messages(of, ""),
        (),
        1_000,
        QuerySource("sdk"),
        QueryTracking("q"),
    )
    return Replied("new", ModelFacts("p", model, 200_000, 32_000), request, of, usage, began_s)


def left(usage: Usage = CACHED) -> History:
    """A conversation whose last reply said this of the cache."""
    return history(*rounds()).append(ResponseEnded("last", "m", usage, "end_turn"))


@pytest.mark.parametrize("lost", [LOST, Usage(81_500, 100)], ids=["written anew", "not counted"])
def test_after_a_resume_a_lost_cache_is_told_with_the_time_as_in_a_conversation_that_stayed_open(lost: Usage):
    stayed, of = CacheWatching(), left()
    assert stayed(replied(of, CACHED, 0.0)) is None
    found = CacheWatching(0.0)(replied(of, lost, LONG_S))
    assert found == stayed(replied(of, lost, LONG_S))
    assert found is not None
    assert (found.cause, found.expected_tokens, found.also) == ("time", 81_000, ())


@pytest.mark.parametrize(
    ("edit", "idle_s", "causes"),
    [
        (None, KEPT_S, ()),
        (ReplaceResult("e-1", "c0", "short"), 10.0, ("edit",)),
        (ReplaceResult("e-1", "c0", "short"), LONG_S, ("edit", "time")),
    ],
)
def test_of_a_run_before_an_edit_is_known_too_and_what_nothing_explains_is_not_told(
    edit: ReplaceResult | None, idle_s: float, causes: Sequence[str]
):
    of = left() if edit is None else left().append(edit)
    found = CacheWatching(0.0)(replied(of, LOST, idle_s))
    told = () if found is None else (found.cause, *(cause for cause, _ in found.also))
    assert told == causes
    assert found is None or found.edits == ("e-1",)


def test_after_a_resume_with_another_model_it_is_the_model():
    found = CacheWatching(0.0)(replied(left(), LOST, LONG_S, model="m2"))
    assert found is not None
    assert (found.cause, found.what, found.also) == ("model", "m → p/m2", ())


def test_what_follows_the_first_reply_after_a_resume_is_compared_with_that_alone():
    watch, of = CacheWatching(0.0), left()
    assert watch(replied(of, LOST, LONG_S)) is not None
    of = of.extend(round_of("c9", "more"))
    assert watch(replied(of, Usage(0, 1, cache_read_input_tokens=81_500), LONG_S + 10)) is None
    found = watch(replied(of, LOST, LONG_S + 20))
    assert found is not None
    assert found.cause == "server"


def test_where_no_pause_or_no_cache_is_known_nothing_is_told_after_a_resume():
    assert CacheWatching()(replied(left(), LOST, LONG_S)) is None
    assert CacheWatching(0.0)(replied(left(Usage(81_000, 100)), LOST, LONG_S)) is None
    assert CacheWatching(0.0)(replied(history(), LOST, LONG_S)) is None


# ------------------------------------------------------------------------------------------------ all of it


def session_left(home: Path, at: datetime, *more: Record) -> str:
    writer = start_session(
        data_root({"HOME": str(home)}), home, "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa", now=lambda: at
    )
    assert isinstance(writer, SessionWriter)
    started = SessionStarted("11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa", str(home), "m", "1")
    for record in (started, *history(*rounds()).view(), *more):
        writer.write(record)
    writer.close()
    return writer.path.stem


ENDED = ResponseEnded("last", SCRIPTED_FACTS.id, CACHED, "end_turn")


@pytest.mark.parametrize(
    ("pause", "clears", "told"),
    [
        (timedelta(hours=2), True, ["edit", "time"]),
        (timedelta(minutes=10), False, ["time"]),
        (timedelta(seconds=1), False, []),
        (-timedelta(hours=2), False, []),
    ],
    ids=["two hours", "ten minutes", "a second", "the clock was set back"],
)
async def test_a_session_that_was_left_long_ago_is_gone_on_with_accordingly(
    tmp_path: Path, pause: timedelta, clears: bool, told: list[str]
):
    session = session_left(tmp_path, datetime.now(UTC) - pause, ENDED)
    model = ScriptedModel(Reply(say("done"), usage=LOST))
    environment = {"HOME": str(tmp_path)}
    chosen = Options(cwd=tmp_path, model=model, environment=environment, tools=[], resume=session)
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message("go on")]
    assert ("[Old result, cleared" in str(model.requests[0].messages)) == clears
    breaks: list[dict[str, Any]] = [
        dict(event.message.data or {})
        for event in events
        if isinstance(event, SystemEvent) and event.message.subtype == "cache_break"
    ]
    assert [
        cause for one in breaks for cause in (one["cause"], *(also["cause"] for also in one["also"]))
    ] == told


def test_the_time_of_the_last_reply_is_read_from_the_session_and_none_where_nobody_replied(tmp_path: Path):
    at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    found: list[datetime | None] = []
    for name, more in ("replied", (ENDED,)), ("nobody did", ()):
        (tmp_path / name).mkdir()
        session_left(tmp_path / name, at, *more)
        (path,) = (tmp_path / name).rglob("*.jsonl")
        found.append(read_session(path).replied_at)
    assert found == [at, None]


@pytest.mark.parametrize("stamp", ["", "yesterday", "2026-11-30T12:00:00.000", "2026-13-30T12:00:00.000Z"])
def test_a_stamp_that_says_no_moment_is_no_time_of_a_reply(stamp: str):
    line = encode_line(ENDED, Envelope(FORMAT, 1, 1, "s1", stamp, "/"), None)
    found = scan(line, lambda _: None)
    assert (found.records, found.replied_at) == ((ENDED,), None)

"""Whatever replies, cuts and refusals come in whatever order, with whatever abort: every promise of a recovery holds."""

from collections.abc import Sequence
from itertools import groupby

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.loop.faults.driver import Played, Striker, check, play
from tests.loop.scenarios import takes_steps
from tests.loop.scene import Scene

from ostinato.errors import ModelError, ModelErrorKind
from ostinato.events import AssistantEvent
from ostinato.records import Attempt, Continued
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    Fails,
    FakeClock,
    Reply,
    RunLog,
    ScriptedModel,
    Turn,
    call,
    fake_tool,
    say,
    think,
)

ENDS_WITH_ERROR = frozenset({"model_error", "prompt_too_long", "image_error", "refused", "no_progress"})


def error(kind: ModelErrorKind) -> ModelError:
    """As the classifiers make it."""
    match kind:
        case "overloaded":
            return ModelError("busy", kind=kind, status=529, retry=True, recover="fallback_model")
        case "not_found":
            return ModelError("gone", kind=kind, status=404, recover="fallback_model")
        case "rate_limit":
            return ModelError("slow", kind=kind, status=429, retry=True, retry_after_s=90.0)
        case "prompt_too_long":
            return ModelError("too long", kind=kind, status=400, recover="compact")
        case "authentication":
            return ModelError("key", kind=kind, status=401, recover="refresh_auth")
        case "refused":
            return ModelError("no", kind=kind, status=400)
        case _:
            return ModelError("broken", kind=kind, retry=True)


KINDS = st.sampled_from((
    "overloaded",
    "overloaded",
    "server",
    "stream_cut",
    "stalled",
    "not_found",
    "rate_limit",
    "prompt_too_long",
    "authentication",
    "refused",
))
BLOCKS = st.lists(st.sampled_from(("say", "think", "look", "write", "write")), min_size=1, max_size=4)
REPLIES = st.tuples(
    st.just("reply"), BLOCKS, st.none(), st.just(0), st.sampled_from((None, None, "max_tokens"))
)
CUTS = st.tuples(st.just("cut"), BLOCKS, st.none() | KINDS, st.integers(1, 12), st.none())
FAILS = st.tuples(st.just("fails"), st.just(["say"]), KINDS, st.just(0), st.none())
Step = tuple[str, Sequence[str], ModelErrorKind | None, int, str | None]
Plan = list[Step]


def unrolled(runs: Sequence[tuple[Step, int]]) -> Plan:
    return [step for step, times in runs for _ in range(times)]


TIMES = st.sampled_from((1, 1, 1, 2, 6))
PLANS = st.lists(st.tuples(st.one_of(REPLIES, CUTS, CUTS, FAILS, FAILS), TIMES), max_size=6).map(unrolled)


class Script:
    """Plays one plan over all models, so that call ids are unique and the end is an answer."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._asked = 0

    def turn(self, _request: object, _number: int) -> Turn:
        self._asked += 1
        if self._asked > len(self._plan):
            return Reply(say("the end"))
        what, blocks, kind, events, stop_reason = self._plan[self._asked - 1]
        if what == "fails":
            return Fails(error(kind or "server"))
        made = [self._block(name, place) for place, name in enumerate(blocks)]
        reply = Reply(*made, stop_reason=stop_reason)
        return reply if what == "reply" else Cut(reply, after_events=events, error=kind and error(kind))

    def _block(self, name: str, place: int):
        number = f"{self._asked}-{place}"
        match name:
            case "look":
                return call("Look", f"l{number}")
            case "write":
                return call("Write", f"w{number}")
            case "think":
                return think(f"hm {number}")
            case _:
                return say(f"said {number}")


def bounded(played: Played, max_retries: int) -> None:
    """In each pass each model is asked at most so often: the retries, and once more for another key or a smaller output."""
    passes: list[list[str]] = [[]]
    for record in played.journal.records:
        if isinstance(record, Continued):
            passes.append([])
        if isinstance(record, Attempt):
            passes[-1].append(record.model)
    for models in passes:
        for _, group in groupby(models):
            assert len(list(group)) <= max_retries + 2


def released(played: Played) -> None:
    """An error is shown exactly once if it ended the query, and never otherwise."""
    notes = [e for e in played.events if isinstance(e, AssistantEvent) and e.message.is_error]
    if played.ends and played.ends[0].reason in ENDS_WITH_ERROR:
        assert len(notes) == 1
    elif played.ends:
        assert len(notes) <= (
            played.ends[0].reason == "completed"
        )  # an output limit is told beside the answer


def check_course(
    plan: Plan, strike_at: int, max_retries: int, chain: int, backend: str, *, is_abort: bool
) -> None:
    script, log = Script(plan), RunLog()
    models = [
        ScriptedModel(script=script.turn, facts=replace(SCRIPTED_FACTS, id=name))
        for name in ("scripted-1", "second", "third")[: chain + 1]
    ]
    tools = [
        fake_tool("Look", takes_steps, log=log, is_read_only=True),
        fake_tool("Write", takes_steps, log=log),
    ]
    config = QueryConfig(normalise_strictly=True, max_retries=max_retries)
    clock = FakeClock(auto_advance=True)
    scene = Scene(models[0], tools, config=config, clock=clock, others=models[1:], max_turns=12, log=log)
    striker = Striker(strike_at if is_abort else 0, "abort")
    played = anyio.run(play, scene, striker, backend=backend)
    check(played)
    bounded(played, max_retries)
    released(played)


@settings(max_examples=150, deadline=None)
@given(PLANS, st.integers(1, 120), st.integers(0, 3), st.integers(0, 2), st.booleans())
def test_any_course_of_faults_keeps_the_promises_on_asyncio(
    plan: Plan, strike_at: int, max_retries: int, chain: int, is_abort: bool
):
    check_course(plan, strike_at, max_retries, chain, "asyncio", is_abort=is_abort)


@settings(max_examples=80, deadline=None)
@given(PLANS, st.integers(1, 120), st.integers(0, 3), st.integers(0, 2), st.booleans())
def test_any_course_of_faults_keeps_the_promises_on_trio(
    plan: Plan, strike_at: int, max_retries: int, chain: int, is_abort: bool
):
    check_course(plan, strike_at, max_retries, chain, "trio", is_abort=is_abort)

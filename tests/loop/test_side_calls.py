"""A question beside the conversation has the same second chances as a turn: another form, another key, a short wait; each has its
bound.
"""

from collections.abc import Sequence

import anyio.lowlevel
import pytest
from msgspec.structs import replace
from tests.loop.failing import OVERLOADED, WRONG_KEY, limited
from tests.loop.scene import Scene

from ostinato.context_pass import PassFacts, SummaryFailed, SummaryReply, SummaryWanted
from ostinato.errors import ModelError
from ostinato.events import Event
from ostinato.history import History
from ostinato.loop.deps import SideModel
from ostinato.loop.ledger import Ledger
from ostinato.loop.query import query
from ostinato.loop.retry_policy import MARGIN_TOKENS, MAX_CHANGED_REQUESTS
from ostinato.loop.side_call import MAX_RETRIES
from ostinato.loop.side_question import SideQuestion
from ostinato.messages import Text, assistant_fragment, user_prompt
from ostinato.ports import ModelFacts
from ostinato.providers.anthropic_wire import CACHE_MARK, AnthropicBodies
from ostinato.records import AnyEdit, Attempt
from ostinato.state import ModelSettings
from ostinato.testing import SCRIPTED_FACTS, Fails, FakeClock, Reply, ScriptedModel, Turn, say
from ostinato.testing.script import Cut

BUSY = ModelError("no", kind="server", status=500, retry=True)
REFUSED_PARAMETER = ModelError("no `temperature`", kind="invalid_request", status=400, recover="send_changed")
CUT = Cut(Reply(say("half of it")), after_events=2)
SUMMARIES = [SummaryWanted("Sum up.", shares_prefix=shares, system="You sum up.") for shares in (True, False)]
SAID = assistant_fragment("a", "r", SCRIPTED_FACTS.id, Text("hi"))
WAYS = pytest.mark.parametrize("wanted", SUMMARIES, ids=["with the prefix", "alone"])


def sized(**sizes: int) -> ModelError:
    error = ModelError("too much", kind="output_overflow", status=400, recover="shrink_output")
    return error.sized(
        input_tokens=sizes.get("input"),
        limit_tokens=sizes.get("window"),
        output_limit_tokens=sizes.get("output"),
    )


class Keys:
    """Somebody who knows a new key, or none."""

    def __init__(self, *, knows: bool = True) -> None:
        self.knows = knows
        self.times_asked = 0

    async def __call__(self) -> bool:
        await anyio.lowlevel.checkpoint()
        self.times_asked += 1
        return self.knows


def summing_up(wanted: SummaryWanted, *turns: Turn, keys: Keys | None = None) -> "Asking":
    """A query whose context pipeline asks for one summary before its first call."""
    return Asking(wanted, turns, keys)


class Asking:
    def __init__(self, wanted: SummaryWanted, turns: Sequence[Turn], keys: Keys | None) -> None:
        self._wanted = wanted
        self.ends: list[SummaryReply | SummaryFailed] = []
        self.scene = Scene(
            ScriptedModel(*turns, Reply(say("done"))),
            before=[user_prompt("wish", "hello"), SAID],
            prepare_context=self._prepare,
            refresh_auth=keys,
            clock=FakeClock(auto_advance=True),
        )

    async def _prepare(self, messages: History, facts: PassFacts) -> Sequence[AnyEdit]:
        del messages
        if not self.ends:
            self.ends.append(await facts.summarise(self._wanted))
        return ()

    async def end(self) -> SummaryReply | SummaryFailed:
        await self.scene.play()
        (end,) = self.ends
        assert self.scene.terminal.reason == "completed"
        return end

    @property
    def limits(self) -> list[int]:
        return [request.max_output_tokens for request in self.scene.model.requests[:-1]]


# ------------------------------------------------------------------ an output limit that is refused


@WAYS
@pytest.mark.parametrize(
    ("error", "allowed"),
    [
        (sized(output=4_096), 4_096),
        (sized(input=90_000, window=100_000), 10_000 - MARGIN_TOKENS),
    ],
    ids=["the model's own", "what the window leaves"],
)
async def test_a_summary_is_asked_for_again_with_the_output_that_is_allowed(
    wanted: SummaryWanted, error: ModelError, allowed: int
):
    asking = summing_up(wanted, Fails(error), Reply(say("short")))
    assert await asking.end() == SummaryReply("short")
    assert asking.limits[1:] == [allowed]
    assert asking.limits[0] > allowed
    assert asking.scene.clock.slept == []


@WAYS
@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ([sized(output=4_096), sized(output=2_048)], "error"),
        ([sized(output=512)], "error"),
        ([sized(input=99_900, window=100_000)], "too_long"),
        ([sized()], "too_long"),
    ],
    ids=["twice", "too little to be of use", "no room", "no sizes"],
)
async def test_only_a_prompt_that_leaves_no_room_is_too_long(
    wanted: SummaryWanted, errors: list[ModelError], kind: str
):
    asking = summing_up(wanted, *(Fails(error) for error in errors))
    end = await asking.end()
    assert isinstance(end, SummaryFailed)
    assert end.kind == kind
    assert len(asking.limits) == len(errors)


async def test_what_a_summary_taught_of_the_model_holds_for_the_main_call():
    asking = summing_up(SUMMARIES[0], Fails(sized(output=4_096)), Reply(say("short")))
    await asking.end()
    believed = asking.scene.windows.believed(SCRIPTED_FACTS)
    assert believed.max_output_tokens == 4_096


async def test_no_summary_is_asked_for_that_the_window_has_no_room_for():
    asking = summing_up(SUMMARIES[0], Reply(say("short")))
    asking.scene.model = ScriptedModel(
        Reply(say("short")), Reply(say("done")), facts=replace(SCRIPTED_FACTS, context_window=32_100)
    )
    asking.scene.before = [user_prompt("wish", "word " * 4_000), SAID]
    assert await asking.end() == SummaryReply("short")
    (limit,) = asking.limits
    assert 20_000 < limit < 31_000


# ------------------------------------------------------------------ a key that is refused


@WAYS
async def test_a_refused_key_is_replaced_once_and_the_summary_asked_for_again(wanted: SummaryWanted):
    keys = Keys()
    asking = summing_up(wanted, Fails(WRONG_KEY), Reply(say("short")), keys=keys)
    assert await asking.end() == SummaryReply("short")
    assert keys.times_asked == 1


@WAYS
@pytest.mark.parametrize("knows", [True, False])
async def test_whoever_knows_keys_is_asked_once_for_each_summary(wanted: SummaryWanted, *, knows: bool):
    keys = Keys(knows=knows)
    asking = summing_up(wanted, *[Fails(WRONG_KEY)] * (1 + knows), keys=keys)
    end = await asking.end()
    assert isinstance(end, SummaryFailed)
    assert (end.kind, keys.times_asked, len(asking.limits)) == ("error", 1, 1 + knows)


@WAYS
async def test_without_anybody_who_knows_a_key_the_refusal_is_the_end(wanted: SummaryWanted):
    asking = summing_up(wanted, Fails(WRONG_KEY))
    assert isinstance(await asking.end(), SummaryFailed)


# ------------------------------------------------------------------ parameters, and what passes with time


@WAYS
async def test_a_parameter_that_is_refused_is_given_up_at_once_and_costs_no_retry(wanted: SummaryWanted):
    failures = [Fails(REFUSED_PARAMETER)] * 3 + [Fails(BUSY)] * MAX_RETRIES
    asking = summing_up(wanted, *failures, Reply(say("short")))
    assert await asking.end() == SummaryReply("short")
    assert asking.scene.clock.slept == [0.5, 1.0]


async def test_an_adapter_that_never_has_enough_ends_after_its_bound():
    asking = summing_up(SUMMARIES[0], *[Fails(REFUSED_PARAMETER)] * (1 + MAX_CHANGED_REQUESTS))
    assert isinstance(await asking.end(), SummaryFailed)


@WAYS
@pytest.mark.parametrize("turn", [Fails(BUSY), Fails(limited(3)), CUT], ids=["server", "limited", "cut"])
async def test_what_passes_with_time_is_tried_a_few_times(wanted: SummaryWanted, turn: Turn):
    asking = summing_up(wanted, *[turn] * (1 + MAX_RETRIES))
    assert isinstance(await asking.end(), SummaryFailed)
    assert len(asking.limits) == 1 + MAX_RETRIES


async def test_nobody_adds_to_an_overload_for_a_summary():
    asking = summing_up(SUMMARIES[0], Fails(OVERLOADED))
    assert isinstance(await asking.end(), SummaryFailed)


async def test_nobody_waits_long_for_a_summary():
    asking = summing_up(SUMMARIES[0], Fails(limited(30)))
    assert isinstance(await asking.end(), SummaryFailed)
    assert asking.scene.clock.slept == []


# ------------------------------------------------------------------ the small model


async def nobody(batch: Sequence[Event]) -> None:
    del batch


def offered(event: Event) -> bool:
    del event
    return True


async def answered(
    *turns: Turn, keys: Keys | None = None, facts: ModelFacts = SCRIPTED_FACTS, prompt: str = "How much?"
) -> tuple[str | None, ScriptedModel, Scene]:
    scene, small = (
        Scene(ScriptedModel(), clock=FakeClock(auto_advance=True)),
        ScriptedModel(*turns, facts=facts),
    )
    deps = replace(scene.deps(), side_model=SideModel(small.stream, small.facts, keys))
    ledger = Ledger(scene.journal, nobody, offered)
    ask = SideQuestion(deps, ledger, scene.params().tool_use_context)
    return await ask("You read.", prompt), small, scene


@pytest.mark.parametrize(
    "error",
    [sized(output=2_048), sized(input=190_000, window=193_000), WRONG_KEY, REFUSED_PARAMETER, BUSY],
    ids=["output", "window", "key", "parameter", "server"],
)
async def test_the_small_model_is_asked_again_after_what_can_be_healed(error: ModelError):
    answer, small, scene = await answered(Fails(error), Reply(say("2 EUR")), keys=Keys())
    assert (answer, len(small.requests)) == ("2 EUR", 2)
    assert [one.outcome for one in scene.journal.records if isinstance(one, Attempt)] == [error.kind, "ok"]


async def test_each_second_chance_has_its_own_count():
    keys = Keys()
    errors = [WRONG_KEY, BUSY, sized(output=2_048), REFUSED_PARAMETER, BUSY]
    answer, small, _ = await answered(*map(Fails, errors), Reply(say("2 EUR")), keys=keys)
    assert (answer, len(small.requests), keys.times_asked) == ("2 EUR", 6, 1)


async def test_a_small_model_without_anybody_who_knows_a_key_gives_no_answer():
    answer, small, _ = await answered(Fails(WRONG_KEY))
    assert (answer, len(small.requests)) == (None, 1)
    answer, small, _ = await answered(Fails(WRONG_KEY), Fails(WRONG_KEY), keys=Keys())
    assert (answer, len(small.requests)) == (None, 2)


async def test_what_the_small_model_was_learned_to_hold_bounds_the_next_question():
    tiny = replace(SCRIPTED_FACTS, id="small-1")
    _, first, scene = await answered(
        Fails(sized(input=190_000, window=8_000)), Reply(say("x")), facts=tiny, prompt="word " * 40_000
    )
    assert scene.windows.believed(tiny).context_window == 8_000
    assert len(first.requests) == 1


# ------------------------------------------------------------------ the provider's cache


async def test_a_summary_with_the_conversations_prefix_finds_in_the_cache_what_all_conversations_share():
    asking = summing_up(SUMMARIES[0], Reply(say("short")))
    settings = ModelSettings(("You are a test.", "You are here."), own_system_blocks=1)
    _ = [
        event async for event in query(replace(asking.scene.params(), settings=settings), asking.scene.deps())
    ]
    assert asking.ends == [SummaryReply("short")]
    bodies = [AnthropicBodies(SCRIPTED_FACTS).body(request) for request in asking.scene.model.requests]
    shared, following = [body[: body.index(CACHE_MARK)] for body in bodies]
    assert shared == following
    assert shared.endswith(b'"You are a test."')

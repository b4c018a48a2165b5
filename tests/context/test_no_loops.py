"""Whatever the window, the summaries and the refusals: a query makes a bounded number of calls for each of its turns, and ends."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.context.compactions import is_summary, nothing
from tests.context.talks import prose
from tests.loop.scene import Scene

from ostinato.context.autocompact import Autocompact
from ostinato.context.collapse import Collapse
from ostinato.context.compaction import MAX_SHRINKS, Compaction
from ostinato.context.microcompact import Microcompact
from ostinato.context.pipeline import Pipeline
from ostinato.context.reactive import ReactiveCompaction
from ostinato.context.snip import SnipStage
from ostinato.errors import ModelError
from ostinato.events import Terminal
from ostinato.history import History
from ostinato.loop.side_call import MAX_RETRIES
from ostinato.messages import Usage
from ostinato.normalise.token_estimate import whole_request_tokens
from ostinato.ports import ModelFacts, ModelRequest
from ostinato.records import AnyEdit
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    CountingIds,
    Fails,
    FakeClock,
    Reply,
    ScriptedModel,
    Turn,
    call,
    fake_tool,
    say,
    transitions,
)

MAX_TURNS = 6
SUMMARIES_A_PASS = (2 + MAX_SHRINKS) * (1 + MAX_RETRIES)
"""With the conversation's own beginning, alone, and shorter; each tried again where the server was at fault."""

CALLS_A_PASS = 1 + SUMMARIES_A_PASS
PASSES_A_TURN = 4
"""The request, after a drain, after a reactive compaction, and after a reply that was empty."""

ANSWERS = ("short", "long", "endless", "none", "cut", "tool", "too long", "server", "refused")


class Trial:
    """A model with a window of its own, which may be smaller than was said, and its own way with summaries."""

    def __init__(self, said: int, real: int, sizes: Sequence[int], ways: Sequence[str]) -> None:
        self.real = real
        self.looked = 0
        self.summaries = 0
        self._sizes, self._ways = sizes, ways
        facts = replace(SCRIPTED_FACTS, context_window=said, max_output_tokens=2_000)
        self.model = ScriptedModel(script=self._turn, facts=facts)
        ids = CountingIds("edit").uuid
        reactive, collapse = ReactiveCompaction(ids), Collapse(ids)

        async def digest(messages: History, model: ModelFacts) -> Sequence[AnyEdit]:
            return await reactive(messages, None, model)

        pipeline = Pipeline({
            "snip": SnipStage(ids),
            "microcompact": Microcompact(ids),
            "collapse": collapse,
            "autocompact": Autocompact(Compaction(ids, nothing), digest),
        })
        self.scene = Scene(
            self.model,
            [fake_tool("Look", self._look, is_read_only=True)],
            config=QueryConfig(normalise_strictly=True, max_retries=1),
            max_turns=MAX_TURNS,
            clock=FakeClock(auto_advance=True),
            prepare_context=pipeline,
            shorten=reactive,
            drain_collapsed=collapse.drain,
        )

    async def _look(self, _input: object, _context: object) -> str:
        return prose(self._sizes[(self.looked - 1) % len(self._sizes)], f"s{self.looked}")

    def _turn(self, request: ModelRequest, _number: int) -> Turn:
        tokens = whole_request_tokens(request)
        if is_summary(request):
            return self._summary(tokens)
        if tokens > self.real:
            return self._too_long(tokens)
        self.looked += 1
        return Reply(call("Look", f"t{self.looked}", number=self.looked), usage=Usage(tokens, 20))

    def _too_long(self, tokens: int) -> Fails:
        error = ModelError("prompt is too long", kind="prompt_too_long", status=400, recover="compact")
        is_named = self.looked % 2 == 0
        return Fails(
            error.sized(input_tokens=tokens, limit_tokens=self.real, output_limit_tokens=None)
            if is_named
            else error
        )

    def _summary(self, tokens: int) -> Turn:
        way = self._ways[self.summaries % len(self._ways)]
        self.summaries += 1
        if tokens > self.real:
            return self._too_long(tokens)
        match way:
            case "short" | "long" | "endless":
                characters = {"short": 200, "long": 6_000, "endless": 60_000}[way]
                return Reply(say(f"<summary>{prose(characters, 'told')}</summary>"), usage=Usage(tokens, 20))
            case "cut":
                return Reply(say("<summary>half of"), stop_reason="max_tokens")
            case "tool":
                return Reply(call("Look", f"no{self.summaries}"))
            case "too long":
                return self._too_long(tokens)
            case "server":
                return Fails(ModelError("gone", kind="server", retry=True, status=500))
            case "refused":
                return Reply(say("no"), stop_reason="refusal")
            case _:
                return Reply(say("I would rather not."))

    async def play(self) -> Terminal:
        await self.scene.play()
        return self.scene.terminal


@settings(max_examples=20)
@given(
    st.integers(4_000, 30_000),
    st.integers(1_000, 30_000),
    st.lists(st.integers(0, 25_000), min_size=MAX_TURNS, max_size=MAX_TURNS),
    st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=6),
)
async def test_no_query_shortens_its_conversation_for_ever(
    said: int, real: int, sizes: list[int], ways: list[str]
):
    trial = Trial(said, min(said, real), sizes, ways)
    end = await trial.play()
    assert end.reason in {
        "max_turns",
        "prompt_too_long",
        "rapid_refill_breaker",
        "model_error",
        "no_progress",
    }
    made = transitions(end)
    turns = 1 + sum(reason == "next_turn" for reason in made)
    assert len(made) + 1 <= PASSES_A_TURN * turns
    assert len(trial.model.requests) <= CALLS_A_PASS * (len(made) + 1)
    since = 0
    for reason in made:
        since = 0 if reason == "next_turn" else since + 1
        assert since < PASSES_A_TURN
    assert all(a != b or a == "next_turn" for a, b in pairwise(made))

"""Whatever model, hooks and errors do: passes between two rounds of tools are bounded, the history stays legal, and there is
one Terminal.
"""

from collections.abc import Callable, Sequence
from itertools import groupby, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.loop.failing import OVERLOADED
from tests.loop.scene import STRICT, Scene

from ostinato.errors import ModelError
from ostinato.history import History
from ostinato.loop.token_budget import MAX_NUDGES
from ostinato.loop.transitions.truncated import MAX_RECOVERIES
from ostinato.loop.transitions.unfinished import MAX_EMPTY_REPLIES, MAX_PAUSES
from ostinato.messages import Usage, user_prompt
from ostinato.normalise.normaliser import Normaliser
from ostinato.normalise.repairing import MAX_REPAIR_LEVEL
from ostinato.ports import ModelRequest
from ostinato.records import AnyEdit, Snip
from ostinato.stop_hooks import AllowStop, BlockStop, PreventStop, StopDecision, StopHook, Stopping
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    Fails,
    Reply,
    ScriptedModel,
    Turn,
    broken_call,
    call,
    fake_tool,
    say,
    think,
)
from ostinato.tool_hooks import AfterTool, AfterToolDecision, NoteForModel, StopContinuation, ToolRan

MAX_BLOCKS = STRICT.max_stop_hook_blocks
STOPS = MAX_NUDGES + MAX_BLOCKS + 1
"""So often can a model answer before its answer counts."""

WITHOUT_DRAINS = (
    STOPS  # blocks and nudges
    + STOPS * (MAX_RECOVERIES + 1)  # a cut reply: once with more room, then resumed, anew after each stop
    + (MAX_NUDGES + 1) * 2  # a compaction, and once more room after it, anew after each nudge
    + MAX_PAUSES
    + MAX_EMPTY_REPLIES
    + MAX_REPAIR_LEVEL
)

BOUND = 2 * WITHOUT_DRAINS + 1
"""What is staged for collapse may be committed between any two of these, never twice in a row."""

TURNS: dict[str, Callable[[int], Turn]] = {
    "answer": lambda n: Reply(say(f"done {n}"), usage=Usage(100, 600)),  # enough gained to be nudged again
    "call": lambda n: Reply(say("so:"), call("Look", f"t{n}")),
    "same id": lambda n: Reply(call("Look", "t", at=n)),
    "malformed": lambda n: Reply(broken_call("Look", f"t{n}", '{"a')),
    "empty": lambda n: Reply(),
    "thought": lambda n: Reply(think("hm", signature="s")),
    "paused": lambda n: Reply(say(f"part {n}"), stop_reason="pause_turn"),
    "paused in thought": lambda n: Reply(think("hm", signature="s"), stop_reason="pause_turn"),
    "refused": lambda n: Reply(say("I"), call("Look", f"t{n}"), stop_reason="refusal"),
    "blocked": lambda n: Cut(
        Reply(say("I"), call("Look", f"t{n}")), after_blocks=2, error=ModelError("no", kind="refused")
    ),
    "cut": lambda n: Reply(say(f"half {n}"), stop_reason="max_tokens"),
    "cut thought": lambda n: Reply(think("hm", signature="s"), stop_reason="max_tokens"),
    "window full": lambda n: Reply(say(f"half {n}"), stop_reason="model_context_window_exceeded"),
    "cut call": lambda n: Reply(broken_call("Look", f"t{n}", '{"a'), stop_reason="max_tokens"),
    "too long": lambda n: Fails(ModelError("too long", kind="prompt_too_long", recover="compact")),
    "silently too long": lambda n: Reply(usage=Usage(SCRIPTED_FACTS.context_window + 1, 1)),
    "media": lambda n: Fails(ModelError("image", kind="media_too_large", recover="strip_media")),
    "illegal": lambda n: Fails(ModelError("ids", kind="invalid_history", recover="repair_history")),
    "server": lambda n: Fails(ModelError("oops", kind="server", status=500)),
    "overloaded": lambda n: Cut(Reply(call("Look", f"t{n}"), say("b")), after_blocks=1, error=OVERLOADED),
    "broken": lambda n: Cut(Reply(say("a"), call("Look", f"t{n}"), say("b")), after_blocks=2),
}


def cycle(names: Sequence[str]) -> ScriptedModel:
    """A model that does this, over and over."""

    def script(_request: ModelRequest, number: int) -> Turn:
        return TURNS[names[(number - 1) % len(names)]](number)

    return ScriptedModel(script=script)


async def claims_to_help(messages: History, error: object, model: object) -> Sequence[AnyEdit]:
    """An edit without effect: the next request is as long as this one."""
    return (Snip("e", "nowhere", "nowhere", user_prompt("m", "(earlier)")),)


async def claims_to_drain(messages: History) -> Sequence[AnyEdit]:
    """The same for what is staged for collapse: there is always more."""
    return await claims_to_help(messages, None, None)


async def always_blocks(stopping: Stopping, /) -> StopDecision | None:
    return BlockStop("more")


def hook_of(answers: Sequence[str]) -> StopHook:
    left = list(answers)

    async def hook(stopping: Stopping, /) -> StopDecision | None:
        match left.pop(0) if left else "allow":
            case "block":
                return BlockStop("more")
            case "prevent":
                return PreventStop("no")
            case "raise":
                raise RuntimeError("a broken hook")
            case _:
                return AllowStop()

    return hook


def tool_hook_of(answers: Sequence[str]) -> AfterTool:
    left = list(answers)

    async def hook(ran: ToolRan, /) -> AfterToolDecision | None:
        match left.pop(0) if left else "allow":
            case "block":
                return NoteForModel("mind the step")
            case "prevent":
                return StopContinuation("no")
            case "raise":
                raise RuntimeError("a broken hook")
            case _:
                return None

    return hook


async def check(scene: Scene) -> None:
    await scene.play()
    ending = scene.terminal  # raises unless there is exactly one, at the end
    assert ending.error_kind not in {"IllegalHistory", "internal"}
    reasons = [step.reason for step in ending.transitions]
    longest = max(
        (len(list(group)) for is_turn, group in groupby(reasons, lambda r: r == "next_turn") if not is_turn),
        default=0,
    )
    assert longest <= BOUND
    assert scene.run is not None
    assert scene.run.messages is not None
    further = scene.run.messages.append(user_prompt("next", "and now?"))
    Normaliser(SCRIPTED_FACTS, strict=True).request_messages(further)  # raises for an illegal history


def worst(names: Sequence[str], *, target: int | None) -> Scene:
    """Nothing ends the query but its own bounds and four turns."""
    return Scene(
        cycle(names),
        [fake_tool("Look")],
        stop_hooks=[always_blocks],
        target_tokens=target,
        max_turns=4,
        shorten=claims_to_help,
        strip_media=claims_to_help,
        drain_collapsed=claims_to_drain,
    )


@pytest.mark.parametrize("names", [*product(TURNS), *product(TURNS, repeat=2)], ids="+".join)
async def test_a_model_that_does_the_same_for_ever_comes_to_an_end(names: Sequence[str]):
    await check(worst(names, target=None))


@pytest.mark.parametrize("other", ["cut", "paused", "empty", "thought", "malformed", "too long", "illegal"])
async def test_a_target_that_is_never_reached_comes_to_an_end_too(other: str):
    for names in (["answer", other], [other, other, other, "answer"]):
        scene = worst(names, target=10**9)
        scene.config = replace(
            STRICT, max_stop_hook_blocks=2
        )  # as many as say what eight would, in a tenth of the time
        await check(scene)


names_of = st.lists(st.sampled_from(sorted(TURNS)), min_size=1, max_size=12)
answers_of = st.lists(st.sampled_from(["allow", "block", "prevent", "raise"]), max_size=12)


@settings(max_examples=120, deadline=None)
@given(names_of, answers_of, answers_of, st.sampled_from([None, 50, 10**6]), st.booleans(), st.booleans())
async def test_any_course_is_bounded_legal_and_ends_once(
    names: Sequence[str],
    answers: Sequence[str],
    tool_answers: Sequence[str],
    target: int | None,
    is_streaming: bool,
    helps: bool,
):
    scene = worst(names, target=target)
    scene.stop_hooks = [hook_of(answers)]
    scene.after_tool = [tool_hook_of(tool_answers)]
    scene.config = replace(STRICT, streaming_tool_execution=is_streaming)
    if not helps:
        scene.shorten = scene.strip_media = Scene(ScriptedModel()).shorten
        scene.drain_collapsed = None
    await check(scene)

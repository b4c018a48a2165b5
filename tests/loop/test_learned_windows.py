"""What failed calls and silent replies teach of a window is kept: it is never paid for twice, and never grows back."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.loop.scene import Scene
from tests.loop.transitions.test_overflowed import compacting, errors, long_talk

from ostinato.errors import ModelError, ModelErrorKind
from ostinato.events import Tombstone
from ostinato.history import History
from ostinato.loop.learned_windows import LearnedWindows
from ostinato.messages import Text, Thinking, Usage, user_prompt
from ostinato.normalise.token_estimate import request_tokens
from ostinato.ports import ModelFacts, ModelRequest
from ostinato.records import AnyEdit, Snip
from ostinato.testing import (
    SCRIPTED_FACTS,
    Fails,
    Reply,
    ScriptedModel,
    Turn,
    call,
    fake_tool,
    say,
    think,
    transitions,
)

BELIEVED = SCRIPTED_FACTS.context_window


def too_long(limit: int | None = None, sent: int | None = None) -> ModelError:
    error = ModelError("prompt is too long", kind="prompt_too_long", status=400, recover="compact")
    return error.sized(input_tokens=sent, limit_tokens=limit, output_limit_tokens=None)


class Watching:
    """A way to shorten that notes the window it is told of."""

    def __init__(self) -> None:
        self.windows: list[int] = []

    async def __call__(self, messages: History, error: object, model: ModelFacts) -> Sequence[AnyEdit]:
        self.windows.append(model.context_window)
        return (Snip(f"e{len(self.windows)}", "nowhere", "nowhere", user_prompt("m", "(earlier)")),)


async def played(
    windows: LearnedWindows, *turns: Turn, others: Sequence[ScriptedModel] = ()
) -> tuple[Scene, Watching]:
    watching = Watching()
    scene = Scene(ScriptedModel(*turns), windows=windows, shorten=watching, others=others)
    await scene.play()
    return scene, watching


async def test_a_window_that_an_error_names_holds_for_this_query_and_the_next():
    windows = LearnedWindows()
    scene, watching = await played(windows, Fails(too_long(64_000)), Reply(say("done")))
    assert scene.terminal.reason == "completed"
    assert watching.windows == [64_000]
    _, later = await played(windows, Fails(too_long(BELIEVED)), Reply(say("done")))
    assert later.windows == [64_000]


async def test_an_error_without_numbers_teaches_less_than_what_failed():
    scene, watching = await played(LearnedWindows(), Fails(too_long()), Reply(say("done")))
    sent = request_tokens(scene.model.requests[0], scene.params().messages)
    assert watching.windows == [int(0.85 * sent)]


async def test_it_never_grows_back():
    windows = LearnedWindows()
    await played(windows, Fails(too_long(64_000)), Reply(say("done")))
    await played(windows, Fails(too_long(128_000)), Reply(say("done")))
    assert windows.believed(SCRIPTED_FACTS).context_window == 64_000


async def test_one_engine_learns_nothing_from_another():
    await played(LearnedWindows(), Fails(too_long(64_000)), Reply(say("done")))
    assert LearnedWindows().believed(SCRIPTED_FACTS) is SCRIPTED_FACTS


async def test_other_models_keep_theirs():
    windows = LearnedWindows()
    await played(windows, Fails(too_long(64_000)), Reply(say("done")))
    other = replace(SCRIPTED_FACTS, id="another")
    assert windows.believed(other) is other


async def test_an_output_that_did_not_fit_teaches_the_window_too():
    windows = LearnedWindows()
    error = ModelError("too much", kind="output_overflow", status=400, recover="shrink_output")
    error.sized(input_tokens=10_000, limit_tokens=50_000, output_limit_tokens=None)
    scene, _ = await played(windows, Fails(error), Reply(say("done")))
    assert scene.terminal.reason == "completed"
    assert windows.believed(SCRIPTED_FACTS).context_window == 50_000


def too_much(output_limit: int) -> ModelError:
    error = ModelError("too much", kind="output_overflow", status=400, recover="shrink_output")
    return error.sized(input_tokens=None, limit_tokens=None, output_limit_tokens=output_limit)


def picky(most: int, *replies: Turn) -> ScriptedModel:
    """It refuses whoever asks for more output than this."""
    left = list(replies)

    def script(request: ModelRequest, _number: int) -> Turn:
        return Fails(too_much(most)) if request.max_output_tokens > most else left.pop(0)

    return ScriptedModel(script=script)


def wanted(scene: Scene) -> list[int]:
    return [request.max_output_tokens for request in scene.model.requests]


async def test_an_output_limit_that_was_refused_is_not_asked_for_again_in_this_query_nor_in_the_next():
    windows = LearnedWindows()
    model = picky(8_192, Reply(call("Look", "t1")), Reply(call("Look", "t2")), Reply(say("done")))
    scene = Scene(model, [fake_tool("Look")], windows=windows)
    await scene.play()
    assert wanted(scene) == [32_000, 8_192, 8_192, 8_192]
    later = Scene(picky(8_192, Reply(say("done"))), windows=windows)
    await later.play()
    assert wanted(later) == [8_192]


async def test_a_refused_escalation_is_tried_once_and_nothing_is_taken_back_for_it_again():
    cut = Reply(say("part "), stop_reason="max_tokens")
    look = Reply(call("Look", "t1"))
    model = picky(32_000, cut, cut, cut, look, cut, cut, Reply(say("done")))
    scene = Scene(model, [fake_tool("Look")])
    await scene.play()
    assert wanted(scene) == [32_000, 64_000, *[32_000] * 6]
    assert transitions(scene.terminal).count("max_output_tokens_escalate") == 1
    assert len([event for event in scene.events if isinstance(event, Tombstone)]) == 1


async def test_a_model_whose_window_turned_out_too_small_takes_nothing_over():
    windows = LearnedWindows()
    windows.learn(too_long(1_000), replace(SCRIPTED_FACTS, id="small"), lambda: 0)
    small = ScriptedModel(Reply(say("from small")), facts=replace(SCRIPTED_FACTS, id="small"))
    down = ModelError("down", kind="server", status=500)
    scene, _ = await played(windows, Fails(down), others=[small])
    assert scene.terminal.reason == "model_error"
    assert small.requests == []


@pytest.mark.parametrize("kind", ["overloaded", "rate_limit", "server", "media_too_large"])
def test_failures_that_are_not_about_length_teach_nothing(kind: ModelErrorKind):
    windows, asked = LearnedWindows(), list[int]()

    def count() -> int:
        asked.append(1)
        return 1_000

    windows.learn(ModelError("no", kind=kind), SCRIPTED_FACTS, count)
    assert windows.believed(SCRIPTED_FACTS) is SCRIPTED_FACTS
    assert asked == []


# ------------------------------------------------------------------ a prompt that was cut in silence


def silent(prompt: int, *parts: Thinking | Text) -> Reply:
    return Reply(*parts, usage=Usage(input_tokens=prompt, output_tokens=1))


@pytest.mark.parametrize("reply", [silent(BELIEVED + 1), silent(BELIEVED + 1, think("hm", signature="s"))])
async def test_an_empty_reply_to_a_prompt_beyond_the_window_is_an_overflow(reply: Reply):
    scene = compacting(Scene(ScriptedModel(reply, Reply(say("done"))), before=long_talk()))
    await scene.play()
    assert transitions(scene.terminal) == ("reactive_compact_retry",)
    assert scene.terminal.reason == "completed"
    assert errors(scene) == []
    assert len(str(scene.model.requests[1].messages)) < len(str(scene.model.requests[0].messages))


async def test_a_model_that_takes_over_is_believed_to_have_the_window_that_it_has_from_its_first_reply_on():
    windows, facts = LearnedWindows(), replace(SCRIPTED_FACTS, id="second")
    windows.learn(too_long(64_000), facts, lambda: 0)
    second = ScriptedModel(silent(64_001), Reply(say("done")), facts=facts)
    gone = ModelError("gone", kind="not_found", status=404, recover="fallback_model")
    scene, watching = await played(windows, Fails(gone), others=[second])
    assert transitions(scene.terminal) == ("reactive_compact_retry",)
    assert watching.windows == [64_000]


async def test_what_an_attempt_taught_holds_for_the_next_one_of_the_same_pass():
    too_much = ModelError("too much", kind="output_overflow", status=400, recover="shrink_output")
    too_much.sized(input_tokens=45_000, limit_tokens=50_000, output_limit_tokens=None)
    scene, watching = await played(LearnedWindows(), Fails(too_much), silent(50_001), Reply(say("done")))
    assert transitions(scene.terminal) == ("reactive_compact_retry",)
    assert watching.windows == [50_000]


async def test_where_nothing_can_be_shortened_it_is_told_as_one():
    scene = Scene(ScriptedModel(silent(BELIEVED + 1)))
    await scene.play()
    ending = scene.terminal
    assert (ending.reason, ending.error_kind) == ("prompt_too_long", "prompt_too_long")
    assert f"{BELIEVED + 1:,}" in ending.error
    assert ending.hint
    assert len(errors(scene)) == 1


async def test_an_empty_reply_within_the_window_is_just_empty():
    scene = compacting(Scene(ScriptedModel(silent(BELIEVED), Reply(say("done"))), before=long_talk()))
    await scene.play()
    assert transitions(scene.terminal) == ("empty_response_retry",)


async def test_words_are_an_answer_however_long_the_prompt_was():
    scene = compacting(Scene(ScriptedModel(silent(BELIEVED + 1, say("done"))), before=long_talk()))
    await scene.play()
    assert (scene.terminal.reason, transitions(scene.terminal)) == ("completed", ())

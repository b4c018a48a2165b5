"""What a query learned of its model's window is what its result says of it, and that of every later one."""

from tests.engine.engine_scene import OTHER_FACTS, Desk, submitted

from ostinato.errors import ModelError
from ostinato.loop.fallback import Fallbacks, Substitute
from ostinato.messages import Usage
from ostinato.testing import SCRIPTED_FACTS, Fails, Reply, ScriptedModel, result, say

USED = Usage(1_000, 10)


def too_much(limit: int) -> ModelError:
    error = ModelError("too much", kind="output_overflow", status=400, recover="shrink_output")
    return error.sized(input_tokens=limit - 5_000, limit_tokens=limit, output_limit_tokens=None)


async def test_a_result_names_the_window_that_was_learned():
    turns = [Fails(too_much(48_000)), Reply(say("a"), usage=USED), Reply(say("b"), usage=USED)]
    engine = await Desk(ScriptedModel(*turns)).engine()
    for prompt in ("one", "two"):
        told = result(await submitted(engine, prompt))
        assert told.subtype == "success"
        assert told.costs[SCRIPTED_FACTS.id].context_window == 48_000
    assert engine.costs[SCRIPTED_FACTS.id].context_window == 48_000
    await engine.aclose()


async def test_who_asks_which_model_answers_is_told_the_window_that_was_learned():
    engine = await Desk(ScriptedModel(Fails(too_much(48_000)), Reply(say("a"), usage=USED))).engine()
    assert engine.model == SCRIPTED_FACTS
    await submitted(engine, "one")
    assert engine.model.context_window == 48_000
    await engine.aclose()


async def test_each_model_has_its_own():
    gone = ModelError("gone", kind="not_found", status=404, recover="fallback_model")
    other = ScriptedModel(Fails(too_much(30_000)), Reply(say("here"), usage=USED), facts=OTHER_FACTS)
    desk = Desk(ScriptedModel(Reply(say("a"), usage=USED), Fails(gone)))
    desk.fallbacks = Fallbacks((Substitute(other.facts, other.stream),))
    engine = await desk.engine()
    first = result(await submitted(engine, "one"))
    assert first.costs[SCRIPTED_FACTS.id].context_window == SCRIPTED_FACTS.context_window
    second = result(await submitted(engine, "two"))
    assert second.costs[OTHER_FACTS.id].context_window == 30_000
    await engine.aclose()

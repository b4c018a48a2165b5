"""The models that may take over: opened by their names, priced as what they are, given back with the engine."""

import anyio.lowlevel
import pytest
from msgspec.structs import replace
from tests.engine.engine_scene import OTHER_FACTS, Desk, submitted

from ostinato.engine.fallback_models import open_fallbacks
from ostinato.engine.model_choice import ChosenModel
from ostinato.engine.option_checks import check_options
from ostinato.engine.options import Options
from ostinato.errors import ConfigurationError, ModelError, UsageError
from ostinato.loop.budget import BudgetLimits
from ostinato.loop.fallback import Fallbacks, Substitute
from ostinato.messages import Usage
from ostinato.ports import Prices
from ostinato.testing import SCRIPTED_FACTS, Cut, Fails, Reply, ScriptedModel, result, say

GONE = ModelError("no such model", kind="not_found", status=404, recover="fallback_model")
FIRST = replace(SCRIPTED_FACTS, prices=Prices(1.0, 1.0))
OTHER = replace(OTHER_FACTS, prices=Prices(10.0, 10.0))


async def test_each_model_is_paid_for_at_its_own_price():
    used = Usage(1_000_000, 0)
    other = ScriptedModel(Reply(say("here"), usage=used), facts=OTHER)
    cut = Cut(Reply(say("a"), say("b"), usage=used), after_blocks=1, error=GONE)
    desk = Desk(ScriptedModel(cut, facts=FIRST))
    desk.fallbacks = Fallbacks((Substitute(other.facts, other.stream),))
    engine = await desk.engine()
    told = result(await submitted(engine, "hi"))
    assert {name: cost.cost_usd for name, cost in told.costs.items()} == {
        "scripted-1": 1.0,
        "scripted-2": 10.0,
    }
    assert (told.text, told.total_cost_usd, told.cost_is_known) == ("here", 11.0, True)
    assert engine.costs == told.costs
    await engine.aclose()


async def test_the_engine_gives_back_what_may_take_over_when_it_is_closed():
    desk = Desk(ScriptedModel(Fails(GONE)))
    engine = await desk.engine()
    await engine.aclose()
    assert desk.is_closed


# ------------------------------------------------------------------ opening


def chosen(name: str) -> ChosenModel:
    if name == "unknown":
        raise ConfigurationError("no key")
    facts = replace(SCRIPTED_FACTS, id=name, prices=None if name == "unpriced" else Prices(1.0, 1.0))
    return ChosenModel(ScriptedModel(facts=facts), anyio.lowlevel.checkpoint)


def test_a_model_that_cannot_be_had_is_left_out_and_named():
    opened = open_fallbacks(Options(fallback_models=("unknown", "b")), BudgetLimits(), chosen)
    assert [one.facts.id for one in opened.fallbacks.substitutes] == ["b"]
    assert ["unknown" in notice for notice in opened.notices] == [True]


def test_a_model_without_a_price_is_left_out_under_a_limit_in_dollars():
    options = Options(fallback_models=("unpriced", "b"))
    opened = open_fallbacks(options, BudgetLimits(max_usd=1.0), chosen)
    assert [one.facts.id for one in opened.fallbacks.substitutes] == ["b"]
    assert len(opened.notices) == 1


def test_the_settings_may_name_more_than_three_and_the_rest_is_named():
    opened = open_fallbacks(Options(fallback_models=tuple("abcde")), BudgetLimits(), chosen)
    assert [one.facts.id for one in opened.fallbacks.substitutes] == ["a", "b", "c"]
    assert len(opened.notices) == 1


def test_a_caller_may_name_three():
    check_options(Options(fallback_models=("a", "b", "c")))
    with pytest.raises(UsageError):
        check_options(Options(fallback_models=("a", "b", "c", "d")))

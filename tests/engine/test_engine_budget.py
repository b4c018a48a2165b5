"""The limits of an engine hold over all its queries, say so in the result, and start again with a new conversation."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ostinato.engine.assemble import open_engine, start_engine
from ostinato.engine.options import Options
from ostinato.engine.query_engine import QueryEngine
from ostinato.errors import UsageError
from ostinato.events import Result
from ostinato.messages import Usage
from ostinato.ports import Prices
from ostinato.testing import SCRIPTED_FACTS, Reply, ScriptedModel, result, say

PRICED = replace(SCRIPTED_FACTS, prices=Prices(1, 10))


def options(folder: Path, model: ScriptedModel, **more: Any) -> Options:
    return Options(
        cwd=folder, model=model, environment={"HOME": str(folder), "PATH": "/usr/bin:/bin"}, **more
    )


async def asked(engine: QueryEngine, prompt: str) -> Result:
    return result([event async for event in engine.submit_message(prompt)])


@pytest.mark.parametrize(
    ("limit", "subtype"),
    [
        ({"max_total_tokens": 100_000}, "error_during_execution"),
        ({"max_budget_usd": 0.5}, "error_max_budget_usd"),
    ],
)
async def test_what_earlier_queries_spent_counts_until_the_conversation_is_cleared(
    tmp_path: Path, limit: dict[str, Any], subtype: str
):
    model = ScriptedModel.repeating(Reply(say("a"), usage=Usage(40_000, 49_000)), facts=PRICED)
    async with open_engine(options(tmp_path, model, **limit)) as engine:
        first, second = await asked(engine, "one"), await asked(engine, "two")
        assert (first.subtype, second.subtype) == ("success", subtype)
        assert second.terminal_reason == "budget_exhausted"
        assert second.errors
        assert len(model.requests) == 1
        await engine.clear()
        assert (await asked(engine, "three")).subtype == "success"


async def test_a_dollar_limit_for_a_model_without_prices_is_refused_at_the_start(tmp_path: Path):
    with pytest.raises(UsageError) as refused:
        await start_engine(options(tmp_path, ScriptedModel(), max_budget_usd=1.0))
    assert "max-tokens-total" in refused.value.hint


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_budget_usd": 0},
        {"max_budget_usd": float("nan")},
        {"max_budget_usd": float("inf")},
        {"max_budget_usd": True},
        {"max_total_tokens": 0},
        {"max_total_tokens": 1.5},
        {"timeout_s": -1},
        {"timeout_s": "5m"},
    ],
)
async def test_limits_that_cannot_be_meant_are_refused(tmp_path: Path, wrong: dict[str, Any]):
    with pytest.raises(UsageError):
        await start_engine(options(tmp_path, ScriptedModel(facts=PRICED), **wrong))

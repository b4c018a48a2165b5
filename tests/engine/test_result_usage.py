"""Whose tokens a result names: `usage` the conversation's own replies, `tree_usage` and `costs` everything that was spent for it.

The results of a conversation add up to what its engine says.
"""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.engine.test_long_conversations import SMALL, looking_tool, options

from ostinato.engine.assemble import open_engine
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.result import QueryResult, result_of_events
from ostinato.errors import ModelError
from ostinato.events import Result
from ostinato.messages import NO_USAGE, Usage
from ostinato.ports import ModelRequest, Prices
from ostinato.testing import Cut, Reply, ScriptedModel, Turn, call, say

ACCOUNT = "<summary>The user wants the parts looked at; some of them were looked at so far.</summary>"
PRICED = replace(SMALL, context_window=60_000, prices=Prices(1.0, 2.0))
AGAIN_AT_ONCE = ModelError("no `x`", kind="invalid_request", status=400, recover="send_changed")
A_LOOK, A_WORD, A_SUMMARY, A_PART = Usage(10, 1), Usage(20, 2), Usage(500, 50), Usage(7, 0)


def asked(request: ModelRequest, number: int) -> Turn:
    """Each prompt is answered after one look. A prompt that says `break` breaks off once; a summary is written when asked for one."""
    if request.source.name == "compact":
        return Reply(say(ACCOUNT), usage=A_SUMMARY)
    last = str(request.messages[-1].content[-1])
    if "ToolResult" in last:
        return Reply(say("ok"), usage=A_WORD)
    if "break" in last and request.wants_stream and number % 2:
        return Cut(Reply(say("half"), usage=A_PART), after_events=2, error=AGAIN_AT_ONCE)
    return Reply(call("Look", f"t{number}"), usage=A_LOOK)


async def told(engine: QueryEngine, line: str) -> QueryResult:
    return result_of_events([event async for event in engine.submit_message(line)])


def summed(results: list[Result], field: str) -> Usage:
    total = NO_USAGE
    for result in results:
        total = total.plus(getattr(result, field))
    return total


@pytest.fixture
async def engine(tmp_path: Path):
    model = ScriptedModel(script=asked, facts=PRICED)
    async with open_engine(options(tmp_path, model, home=tmp_path / "home", tool=looking_tool(100))) as made:
        yield made


def check(result: Result, *, own: Usage, all_of_it: Usage) -> None:
    assert (result.usage, result.tree_usage) == (own, all_of_it)
    by_model = NO_USAGE
    for cost in result.costs.values():
        by_model = by_model.plus(cost.usage)
    assert by_model == all_of_it
    expected_usd = (all_of_it.input_tokens + 2 * all_of_it.output_tokens) / 1_000_000
    assert result.total_cost_usd == pytest.approx(expected_usd)


async def test_without_anything_beside_both_are_the_same(engine: QueryEngine):
    done = await told(engine, "Wish.")
    both = A_LOOK.plus(A_WORD)
    check(done.result, own=both, all_of_it=both)
    assert done.usage == done.terminal.usage == done.tree_usage == both


async def test_a_summary_that_was_asked_for_is_spent_by_its_command(engine: QueryEngine):
    for number in range(4):
        await told(engine, f"Wish number {number}.")
    done = await told(engine, "/compact")
    check(done.result, own=NO_USAGE, all_of_it=A_SUMMARY)
    assert (done.usage, done.tree_usage) == (NO_USAGE, A_SUMMARY)


async def test_a_reply_that_broke_off_is_the_conversations_own(engine: QueryEngine):
    done = await told(engine, "Wish that will break.")
    own = done.usage
    check(done.result, own=own, all_of_it=own)
    assert own.input_tokens == A_PART.plus(A_LOOK).plus(A_WORD).input_tokens


async def test_what_asks_no_model_spends_nothing(engine: QueryEngine):
    done = await told(engine, "/cost")
    check(done.result, own=NO_USAGE, all_of_it=NO_USAGE)


async def test_the_results_of_a_conversation_add_up_to_what_its_engine_says(engine: QueryEngine):
    lines = ["a", "b break", "/cost", "c", "/compact", "d", "e", "f", "/compact", "/context"]
    results = [(await told(engine, line)).result for line in lines]
    assert summed(results, "tree_usage") == engine.usage
    assert sum(result.total_cost_usd for result in results) == pytest.approx(
        sum(cost.cost_usd or 0 for cost in engine.costs.values())
    )
    assert engine.usage.minus(summed(results, "usage")) == A_SUMMARY.plus(A_SUMMARY)

"""What a wish about thinking becomes for each kind of model; what it cannot be told of is named, never sent."""

from typing import Any

import pytest

from ostinato.engine.thinking import BUDGETS, DEFAULT_BUDGET_TOKENS, thinking_for
from ostinato.errors import UsageError
from ostinato.ports import NO_THINKING, ModelFacts, Thinking


def facts(form: Any) -> ModelFacts:
    return ModelFacts("openai", "m", 100_000, 64_000, thinking_form=form)


FORMS = ["none", "budget", "adaptive", "effort", "effort_without_tools"]


@pytest.mark.parametrize("form", FORMS)
def test_no_wish_asks_for_nothing_and_says_nothing(form: str):
    choice = thinking_for(facts(form), None, None)
    assert (choice.thinking, choice.notice) == (NO_THINKING, "")


@pytest.mark.parametrize(
    ("form", "wish", "effort", "expected"),
    [
        ("budget", "on", None, Thinking(DEFAULT_BUDGET_TOKENS)),
        ("budget", 2_000, None, Thinking(2_000)),
        ("budget", None, "low", Thinking(BUDGETS["low"])),
        ("budget", 2_000, "high", Thinking(2_000)),
        ("budget", "off", None, NO_THINKING),
        ("adaptive", "on", None, Thinking(DEFAULT_BUDGET_TOKENS)),
        ("adaptive", None, "high", Thinking(0, "high")),
        ("adaptive", "on", "max", Thinking(DEFAULT_BUDGET_TOKENS, "max")),
        ("adaptive", "off", "low", Thinking(0, "low")),
        ("effort", None, "medium", Thinking(BUDGETS["medium"], "medium")),
        ("effort", 3_000, None, Thinking(3_000)),
        ("effort", "on", None, Thinking(DEFAULT_BUDGET_TOKENS)),
    ],
)
def test_a_wish_that_a_model_understands_reaches_it_in_silence(
    form: str, wish: Any, effort: Any, expected: Thinking
):
    choice = thinking_for(facts(form), wish, effort)
    assert (choice.thinking, choice.notice) == (expected, "")


@pytest.mark.parametrize(
    ("form", "wish", "effort"),
    [
        ("none", "on", None), ("none", 2_000, None), ("none", None, "low"), ("effort_without_tools", "on", None),
        ("effort_without_tools", None, "high"), ("effort", "off", None), ("budget", "off", "high"), ("adaptive", 5_000, None),
    ],
)  # fmt: skip
def test_a_wish_without_effect_is_named(form: str, wish: Any, effort: Any):
    assert "`openai/m`" in thinking_for(facts(form), wish, effort).notice


@pytest.mark.parametrize(
    ("wish", "effort"), [("maybe", None), (5, None), (True, None), (-1, None), (None, "huge")]
)
def test_a_wish_that_is_none_is_a_usage_error(wish: Any, effort: Any):
    with pytest.raises(UsageError):
        thinking_for(facts("budget"), wish, effort)

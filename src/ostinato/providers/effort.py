"""How much to think, in the words of OpenAI's wires: a budget in tokens becomes one of three names."""

EFFORT_STEPS = ((4_096, "low"), (16_384, "medium"))
"""Thinking budgets up to these many tokens; any larger one is `high`."""


def effort_name(budget_tokens: int) -> str:
    """`low`, `medium` or `high`; empty for no budget: the choice is then the model's."""
    if budget_tokens <= 0:
        return ""
    return next((name for limit, name in EFFORT_STEPS if budget_tokens <= limit), "high")

"""How much the model is to think: what a caller wishes, made into what the chosen model can be asked for.

A wish that the model cannot be told of has no effect and is named, never sent in the hope that it is understood.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, assert_never

import msgspec

from ostinato.errors import UsageError
from ostinato.option_values import EFFORTS, Effort, ThinkingWish
from ostinato.ports import NO_THINKING, ModelFacts, Thinking

MIN_BUDGET_TOKENS: Final = 1_024
"""The least that a budget may be; Anthropic refuses less."""

DEFAULT_BUDGET_TOKENS: Final = 10_000

BUDGETS: Final[Mapping[str, int]] = MappingProxyType({
    "low": 4_096,
    "medium": 16_384,
    "high": 31_999,
    "xhigh": 31_999,
    "max": 63_999,
})
"""What an effort is in tokens, for models that take a budget; on OpenAI's wire these become `low`, `medium`, `high`."""


class ThinkingChoice(msgspec.Struct, frozen=True):
    """`notice` says which part of the wish has no effect, "" if all of it has."""

    thinking: Thinking = NO_THINKING
    notice: str = ""


def thinking_for(facts: ModelFacts, wish: ThinkingWish | None, effort: Effort | None) -> ThinkingChoice:
    """What to ask of this model. Raises UsageError for a wish that makes no sense for any model."""
    check_wish(wish, effort)
    name = f"{facts.provider}/{facts.id}"
    is_wished = wish not in {None, "off"} or effort is not None
    match facts.thinking_form:
        case "none":
            notice = f"`{name}` does not think: thinking and effort have no effect" if is_wished else ""
            return ThinkingChoice(notice=notice)
        case "effort_without_tools":
            notice = f"`{name}` does not think beside tools: thinking and effort have no effect here"
            return ThinkingChoice(notice=notice if is_wished else "")
        case "adaptive":
            return _adaptive(name, wish, effort)
        case "budget":
            if wish == "off":
                return ThinkingChoice(
                    notice=f"thinking is off, so effort has no effect on `{name}`" if effort else ""
                )
            return ThinkingChoice(Thinking(_budget(wish, effort)))
        case "effort":
            if wish == "off":
                return ThinkingChoice(notice=f"`{name}` cannot be told not to think; how much is left to it")
            return ThinkingChoice(Thinking(_budget(None if effort else wish, effort), effort))
        case _:
            assert_never(facts.thinking_form)


def wish_notices(thinking: ThinkingWish | None, effort: Effort | None, facts: ModelFacts) -> tuple[str, ...]:
    """What to tell the user of a wish when a conversation begins; empty when all of it has its effect."""
    notice = thinking_for(facts, thinking, effort).notice
    return (notice,) if notice else ()


def check_wish(wish: object, effort: object) -> None:
    """Raises UsageError."""
    if effort is not None and effort not in EFFORTS:
        names = ", ".join(f"`{name}`" for name in EFFORTS)
        raise UsageError(f"there is no effort {effort!r}", hint=f"it is one of {names}")
    is_budget = isinstance(wish, int) and not isinstance(wish, bool) and wish >= MIN_BUDGET_TOKENS
    if wish is not None and wish not in ("on", "off") and not is_budget:
        hint = f"it is `on`, `off`, or a budget of at least {MIN_BUDGET_TOKENS:,} tokens"
        raise UsageError(f"thinking cannot be {wish!r}", hint=hint)


def _adaptive(name: str, wish: ThinkingWish | None, effort: Effort | None) -> ThinkingChoice:
    notice = (
        f"`{name}` decides itself how much to think: the budget has no effect"
        if isinstance(wish, int)
        else ""
    )
    budget = 0 if wish in {None, "off"} else DEFAULT_BUDGET_TOKENS
    return ThinkingChoice(Thinking(budget, effort), notice)


def _budget(wish: ThinkingWish | None, effort: Effort | None) -> int:
    if isinstance(wish, int):
        return wish
    if effort is not None:
        return BUDGETS[effort]
    return DEFAULT_BUDGET_TOKENS if wish == "on" else 0

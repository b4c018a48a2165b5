"""Asks the stop hooks, all at the same time and within a deadline. A hook may hold a query up; none can trap or break it."""

from collections.abc import Sequence
from functools import partial

import msgspec

from ostinato.loop.described import Mask, described
from ostinato.loop.hook_answers import HookAnswer, Raised, Said, answers_within, hook_name
from ostinato.ports import Clock
from ostinato.stop_hooks import (
    AllowStop,
    BlockStop,
    PreventStop,
    StopDecision,
    StopFailed,
    StopFailureHook,
    StopHook,
    Stopping,
)

StopFailureHooks = Sequence[StopFailureHook]

FAILURE_HOOKS_TIMEOUT_S = 5.0
"""A query that failed waits no longer for those who are only told of it."""


class HooksSaid(msgspec.Struct, frozen=True):
    """What the hooks answered, in their order. `troubles` are sentences about those that gave no usable answer."""

    blocks: tuple[BlockStop, ...] = ()
    prevents: tuple[PreventStop, ...] = ()
    troubles: tuple[str, ...] = ()


NOTHING_SAID = HooksSaid()


class _Trouble(msgspec.Struct, frozen=True):
    text: str


async def ask_stop_hooks(
    hooks: Sequence[StopHook],
    stopping: Stopping,
    clock: Clock,
    timeout_s: float,
    *,
    mask: Mask,
) -> HooksSaid:
    """Raises nothing but a real cancellation."""
    if not hooks:
        return NOTHING_SAID
    asked = [partial(hook, stopping) for hook in hooks]
    answers = await answers_within(asked, clock, timeout_s)
    said = [_checked(hook, answer, timeout_s, mask) for hook, answer in zip(hooks, answers, strict=True)]
    return HooksSaid(
        tuple(one for one in said if isinstance(one, BlockStop)),
        tuple(one for one in said if isinstance(one, PreventStop)),
        tuple(one.text for one in said if isinstance(one, _Trouble)),
    )


async def tell_failure_hooks(hooks: StopFailureHooks, failed: StopFailed, clock: Clock) -> None:
    """Raises nothing but a real cancellation; what a hook raises is its own affair."""
    if hooks:
        await answers_within([partial(hook, failed) for hook in hooks], clock, FAILURE_HOOKS_TIMEOUT_S)


def _checked(hook: StopHook, answer: HookAnswer, timeout_s: float, mask: Mask) -> StopDecision | _Trouble:
    name = hook_name(hook)
    match answer:
        case None:
            return _Trouble(f"the stop hook `{name}` gave no answer within {timeout_s:g} s")
        case Raised(error):
            return _Trouble(f"the stop hook `{name}` failed: {described(error, mask)}")
        case Said(None):
            return AllowStop()
        case Said(BlockStop(message)) if not str(message).strip():
            return _Trouble(f"the stop hook `{name}` did not say what is missing; its block is ignored")
        case Said(AllowStop() | BlockStop() | PreventStop() as decision):
            return decision
        case Said(value):
            return _Trouble(
                f"the stop hook `{name}` answered with {type(value).__name__}, which says nothing"
            )

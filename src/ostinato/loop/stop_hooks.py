"""Asks the stop hooks, all at the same time and within a deadline. A hook may hold a query up; none can trap or break it."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import anyio
import msgspec

from ostinato.loop.call import described
from ostinato.loop.cancellation import must_pass
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
    hooks: Sequence[StopHook], stopping: Stopping, clock: Clock, timeout_s: float
) -> HooksSaid:
    """Raises nothing but a real cancellation."""
    if not hooks:
        return NOTHING_SAID
    asked = [partial(hook, stopping) for hook in hooks]
    answers = await _within(asked, clock, timeout_s)
    said = [_checked(hook, answer, timeout_s) for hook, answer in zip(hooks, answers, strict=True)]
    return HooksSaid(
        tuple(one for one in said if isinstance(one, BlockStop)),
        tuple(one for one in said if isinstance(one, PreventStop)),
        tuple(one.text for one in said if isinstance(one, _Trouble)),
    )


async def tell_failure_hooks(hooks: StopFailureHooks, failed: StopFailed, clock: Clock) -> None:
    """Raises nothing but a real cancellation; what a hook raises is its own affair."""
    if hooks:
        await _within([partial(hook, failed) for hook in hooks], clock, FAILURE_HOOKS_TIMEOUT_S)


def _checked(hook: StopHook, answer: object, timeout_s: float) -> StopDecision | _Trouble:
    """`answer` is anybody's: None here means that there was none in time, `AllowStop` stands for a hook's own None."""
    name = _name(hook)
    match answer:
        case None:
            return _Trouble(f"the stop hook `{name}` gave no answer within {timeout_s:g} s")
        case BaseException():
            return _Trouble(f"the stop hook `{name}` failed: {described(answer)}")
        case BlockStop(message) if not str(message).strip():
            return _Trouble(f"the stop hook `{name}` did not say what is missing; its block is ignored")
        case AllowStop() | BlockStop() | PreventStop():
            return answer
        case _:
            return _Trouble(
                f"the stop hook `{name}` answered with {type(answer).__name__}, which says nothing"
            )


async def _within(
    calls: Sequence[Callable[[], Awaitable[object]]], clock: Clock, timeout_s: float
) -> list[object]:
    """Of each call what it returned (`AllowStop` for None) or raised; None if it was not over in time."""
    answers: list[object] = [None] * len(calls)

    async def ask(place: int, call: Callable[[], Awaitable[object]]) -> None:
        try:
            answer = await call()
            answers[place] = AllowStop() if answer is None else answer
        except BaseException as error:
            if must_pass(error):
                raise
            answers[place] = error

    async with anyio.create_task_group() as watch:
        async with anyio.create_task_group() as asking:
            watch.start_soon(_cancel_in, timeout_s, clock, asking.cancel_scope)
            for place, call in enumerate(calls):
                asking.start_soon(ask, place, call)
        watch.cancel_scope.cancel()
    return answers


async def _cancel_in(seconds: float, clock: Clock, scope: anyio.CancelScope) -> None:
    await clock.sleep(seconds)
    scope.cancel()


def _name(hook: StopHook) -> str:
    return str(getattr(hook, "__name__", type(hook).__name__))

"""Asks functions of others, all at the same time and within one deadline: what they raise or never say is an answer too."""

from collections.abc import Awaitable, Callable, Sequence

import anyio
import msgspec

from ostinato.loop.cancellation import must_pass
from ostinato.ports import Clock


class Said(msgspec.Struct, frozen=True):
    """What a hook returned, whatever it is."""

    value: object


class Raised(msgspec.Struct, frozen=True):
    """What a hook raised."""

    error: BaseException


HookAnswer = Said | Raised | None
"""None: there was no answer in time."""


async def answers_within(
    calls: Sequence[Callable[[], Awaitable[object]]], clock: Clock, timeout_s: float
) -> list[HookAnswer]:
    """One answer for each call, in their order. Raises nothing but a real cancellation."""
    answers: list[HookAnswer] = [None] * len(calls)

    async def ask(place: int, call: Callable[[], Awaitable[object]]) -> None:
        try:
            answers[place] = Said(await call())
        except BaseException as error:
            if must_pass(error):
                raise
            answers[place] = Raised(error)

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


def hook_name(hook: object) -> str:
    """What a user would call it."""
    return str(getattr(hook, "__name__", type(hook).__name__))

"""Whoever knows keys is asked once, with a deadline: a host that hangs or fails knows none, and what it says shows no secret."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from ostinato.engine.fresh_key import key_refresher
from ostinato.engine.model_choice import ChosenModel
from ostinato.events import AnyModelEvent
from ostinato.ports import ModelFacts, ModelRequest


class Keyed:
    """A model behind a key, which is never asked for a reply."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.facts = ModelFacts("anthropic", "m", 200_000, 8_000)

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[AnyModelEvent]]]:
        raise NotImplementedError

    def use_key(self, api_key: str) -> None:
        self.keys.append(api_key)

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()


async def hangs() -> str:
    await anyio.sleep_forever()
    return "late"


async def fails() -> str:
    await anyio.lowlevel.checkpoint()
    raise RuntimeError("no entry for sk-ant-SECRETKEY-1234567890")


async def knows() -> str:
    await anyio.lowlevel.checkpoint()
    return "new"


@pytest.mark.parametrize(
    ("host", "timeout_s", "keys"), [(hangs, 0.0, []), (fails, 60.0, []), (knows, 60.0, ["new"])]
)
async def test_a_host_that_hangs_or_fails_knows_no_key(
    host: Callable[[], Awaitable[str]],
    timeout_s: float,
    keys: list[str],
    caplog: pytest.LogCaptureFixture,
):
    model = Keyed()
    refresh = key_refresher(host, ChosenModel(model, model.aclose), timeout_s=timeout_s)
    assert refresh is not None
    with caplog.at_level(logging.WARNING):
        assert await refresh() == bool(keys)
    assert model.keys == keys
    assert "SECRETKEY" not in caplog.text

"""A connection that broke is never used again: the next try gets a new one, and other idle ones that died meanwhile are no trap."""

import anyio
import pytest
from tests.providers.anthropic_stream import GOLDEN
from tests.providers.requests import failure_of, request
from tests.providers.wire_server import Answer, WireServer, wire_server

from ostinato.ports import ModelFacts
from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.exchange import HttpSettings

WHOLE = Answer([GOLDEN])
FACTS = ModelFacts("anthropic", "model-1", 200_000, 8_000)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def model_on(server: WireServer) -> AnthropicModel:
    return AnthropicModel(FACTS, base_url=server.url, api_key="k", settings=HttpSettings())


async def ask(model: AnthropicModel) -> None:
    async with model.stream(request()) as batches:
        async for _ in batches:
            pass


async def test_after_a_break_the_next_try_opens_a_connection():
    with wire_server(WHOLE, WHOLE, Answer([GOLDEN[:80]], cut=True), WHOLE) as server:
        model = model_on(server)
        await ask(model)
        await ask(model)
        assert server.connections == 1
        assert (await failure_of(model, request())).retry
        await ask(model)
        assert server.connections == 2
        await model.aclose()


async def test_idle_connections_that_were_reset_are_not_tried_one_after_the_other():
    with wire_server(*[WHOLE] * 8) as server:
        model = model_on(server)
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(ask, model)
        opened = server.connections
        assert opened > 1
        server.reset_all()
        await ask(model)
        assert server.connections == opened + 1
        await model.aclose()

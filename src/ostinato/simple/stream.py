"""One streaming model call with the tool list: text as it comes, complete blocks, and at the end the usage."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack

from ostinato.engine.clock import RandomIds
from ostinato.engine.model_choice import choose_model
from ostinato.engine.options import Options
from ostinato.events import AnyModelEvent
from ostinato.journal.places import data_root
from ostinato.loop.request import DEFAULT_MAX_OUTPUT_TOKENS
from ostinato.ports import Model, ModelRequest, QuerySource, QueryTracking, RequestMessage, ToolSchema


def model_from_key(name: str | None = None) -> Model:
    """The model that the environment has a key for, or the named one. Raises ConfigurationError if there is none."""
    environment = dict(os.environ)
    return choose_model(Options(model=name), environment, data_root=data_root(environment)).model


async def stream_query(
    messages: Sequence[RequestMessage],
    system_prompt: str | None = None,
    tools: Sequence[ToolSchema] = (),
    *,
    model: Model | None = None,
) -> AsyncGenerator[AnyModelEvent, None]:
    """The reply, event by event; the last is `MessageStop`. Raises ModelError."""
    called = model or model_from_key()
    request = ModelRequest(
        model=called.facts.id,
        system=(system_prompt,) if system_prompt else (),
        messages=messages,
        tools=tuple(tools),
        max_output_tokens=min(DEFAULT_MAX_OUTPUT_TOKENS, called.facts.max_output_tokens),
        source=QuerySource("sdk"),
        tracking=QueryTracking(RandomIds().uuid()),
    )
    stack = AsyncExitStack()
    try:
        async for batch in await stack.enter_async_context(called.stream(request)):
            for event in batch:
                yield event
    finally:
        await stack.aclose()

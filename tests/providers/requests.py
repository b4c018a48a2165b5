"""Requests and readers that the adapters' tests share."""

from collections.abc import Sequence
from typing import Any

from ostinato.errors import ModelError
from ostinato.events import AnyModelEvent, BlockStop, MessageStop
from ostinato.messages import AssistantBlock, Text
from ostinato.ports import (
    Model,
    ModelFacts,
    ModelRequest,
    QuerySource,
    QueryTracking,
    RequestMessage,
    ToolSchema,
)
from ostinato.providers.streaming import BatchReader, ReplyDecoder

HELLO = (RequestMessage("user", (Text("hello"),)),)
READ = ToolSchema("Read", "Read a file", {"type": "object", "properties": {"path": {"type": "string"}}})


def request(
    messages: Sequence[RequestMessage] = HELLO, *, model: str = "model-1", **changes: Any
) -> ModelRequest:
    fields: dict[str, Any] = {
        "system": ("be brief",),
        "tools": (READ,),
        "max_output_tokens": 1000,
        "source": QuerySource("main"),
        "tracking": QueryTracking("chain"),
    }
    return ModelRequest(model=model, messages=messages, **(fields | changes))


def facts(provider: str, **changes: Any) -> ModelFacts:
    return ModelFacts(provider, "model-1", 200_000, 8_000, **changes)


async def read_all(model: Model, sent: ModelRequest) -> list[AnyModelEvent]:
    async with model.stream(sent) as batches:
        return [event async for batch in batches for event in batch]


async def failure_of(
    model: Model, sent: ModelRequest, *, into: list[Sequence[AnyModelEvent]] | None = None
) -> ModelError:
    """What the call fails with; batches that came before go into `into`."""
    got = into if into is not None else []
    try:
        async with model.stream(sent) as batches:
            async for batch in batches:
                got.append(batch)
    except ModelError as error:
        return error
    raise AssertionError("the call was expected to fail")


def decode(decoder: ReplyDecoder, chunks: Sequence[bytes]) -> list[AnyModelEvent]:
    """The events of a stream that ends after `chunks`, without a network."""
    reader = BatchReader(decoder)
    events: list[AnyModelEvent] = []
    for chunk in (*chunks, None):
        reader.take(chunk, events)
    return events


def blocks_of(events: Sequence[AnyModelEvent]) -> list[AssistantBlock]:
    return [event.block for event in events if isinstance(event, BlockStop)]


def stop_of(events: Sequence[AnyModelEvent]) -> MessageStop:
    (stop,) = [event for event in events if isinstance(event, MessageStop)]
    return stop


def failure_while_decoding(
    decoder: ReplyDecoder, chunks: Sequence[bytes], *, into: list[AnyModelEvent] | None = None
) -> ModelError:
    """What a stream that ends after `chunks` fails with; events decoded before go into `into`."""
    batches = BatchReader(decoder)
    events = into if into is not None else []
    try:
        for chunk in (*chunks, None):
            batches.take(chunk, events)
    except ModelError as error:
        return error
    raise AssertionError("the stream was expected to fail")

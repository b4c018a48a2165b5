"""The public shape of a query: an async generator of events that holds nothing, so that a consumer may leave at any time."""

from collections.abc import AsyncGenerator

from ostinato.events import Event
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.run import Run


def query(params: QueryParams, deps: Deps) -> AsyncGenerator[Event, None]:
    """Events of one query; the last is its `Terminal`.

    Breaking out, `aclose()` at any yield and dropping the generator all end the run, its tools and their processes. A
    consumer that reads slowly slows the run; one that stops reading stops it within one channel capacity.
    """
    return events_of(Run(params, deps))


async def events_of(run: Run) -> AsyncGenerator[Event, None]:
    """Start the run and yield its events; leaving this generator leaves the run."""
    try:
        await run.start()
        while (batch := await run.channel.receive()) is not None:
            for event in batch:
                yield event
    finally:
        run.leave()
        await run.settled()

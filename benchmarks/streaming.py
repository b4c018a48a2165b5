"""What one delta costs from the socket to the public iterator, the session kept in a real file; beside both floors.

`python -m benchmarks.streaming [--full]`. Loopback, the server in a process of its own, 20,000 text deltas. The server
writes as fast as the socket takes them, so the reading side finds several chunks at once, as with a quick model.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial

import anyio

from benchmarks.floor import SameLibraries, Standard
from benchmarks.measure import Figure, alternate, show
from benchmarks.scene import Scene, scene
from benchmarks.scripted_wire import WireProcess, wire_process
from ostinato.engine.assemble import open_engine
from ostinato.events import StreamEvent, TextDelta

DELTAS = 20_000
LIMIT_US = 25.0


async def stream_ostinato(place: Scene, url: str) -> None:
    count = 0
    options = place.options(url=url)
    async with open_engine(options) as engine, aclosing(engine.submit_message("go")) as events:
        async for event in events:
            count += isinstance(event, StreamEvent) and isinstance(event.event, TextDelta)
    _expect(count)


async def stream_same_libraries(url: str) -> None:
    agent = SameLibraries(url, {})
    count = 0
    async for event in agent.run("go"):
        count += event.type == "content_block_delta"
    await agent.aclose()
    _expect(count)


def stream_standard(url: str) -> None:
    _expect(sum(1 for _ in Standard(url).run("go")))


def _expect(count: int) -> None:
    if count != DELTAS:
        raise RuntimeError(f"{count} deltas came, {DELTAS} were sent")


def cpu_us(action: Callable[[], object]) -> float:
    """CPU of this whole process, for one delta."""
    started = time.process_time()
    action()
    return (time.process_time() - started) * 1e6 / DELTAS


def measured(rounds: int) -> list[Figure]:
    figures: list[Figure] = []
    with scene() as place, wire_process() as wire:
        for events_a_chunk in (20, 1):
            figures += _measured(place, wire, events_a_chunk, rounds)
    return figures


def _measured(place: Scene, wire: WireProcess, events_a_chunk: int, rounds: int) -> list[Figure]:
    name = f"deltas-{DELTAS}-{events_a_chunk}"
    stream_standard(wire.url(name))  # the server renders a scene once
    ours, same, standard = alternate(
        rounds,
        lambda: cpu_us(lambda: anyio.run(partial(stream_ostinato, place, wire.url(name)))),
        lambda: cpu_us(lambda: anyio.run(partial(stream_same_libraries, wire.url(name)))),
        lambda: cpu_us(lambda: stream_standard(wire.url(name))),
    )
    floors = f"floor (b) {same:.1f} µs ({ours / same:.2f} ×), floor (a) {standard:.1f} µs ({ours / standard:.2f} ×)"
    return [Figure(f"CPU per delta, {events_a_chunk} events a chunk", ours, "µs", LIMIT_US, floors)]


def main(arguments: Sequence[str]) -> None:
    show(measured(11 if "--full" in arguments else 3))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Whether tools run while the reply still streams: a tool of 1 s at the start of a reply that goes on for 1.5 s.

`python -m benchmarks.overlap [--full]`. The time from the reply's first byte to the next request, against the 1.5 s that the
reply takes anyway; a loop that waits for the end pays the whole second on top.
"""

import statistics
import sys
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial

import anyio

from benchmarks.floor import Standard
from benchmarks.measure import Figure, show
from benchmarks.scene import scene
from benchmarks.scripted_wire import WireProcess, wire_process
from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options

TOOL_S, STREAM_S = 1, 1.5


async def run_ostinato(options: Options) -> None:
    async with open_engine(options) as engine, aclosing(engine.submit_message("go")) as events:
        async for _ in events:
            pass


def spans_s(wire: WireProcess) -> tuple[float, float]:
    """How long the first reply took, and what came between its end and the next request."""
    first, second = wire.times()
    return first[1] - first[0], second[0] - first[1]


def measured(rounds: int) -> list[Figure]:
    ours: list[tuple[float, float]] = []
    floor: list[tuple[float, float]] = []
    with scene() as place, wire_process() as wire:
        for _ in range(rounds):
            url = wire.url(f"overlap-{TOOL_S}-{STREAM_S}")
            anyio.run(partial(run_ostinato, place.options(url=url)))
            ours.append(spans_s(wire))
            for _piece in Standard(wire.url(f"overlap-{TOOL_S}-{STREAM_S}")).run("go"):
                pass
            floor.append(spans_s(wire))
    ratio = statistics.median((stream + after) / stream for stream, after in ours)
    after_ms = statistics.median(after for _, after in ours) * 1e3
    floor_ms = statistics.median(after for _, after in floor) * 1e3
    detail = (
        f"next request {after_ms:.0f} ms after the end; floor (a), which waits for the end: {floor_ms:.0f} ms"
    )
    return [Figure("a 1 s tool in a 1.5 s reply: whole / reply alone, wall", ratio, "×", 1.05, detail)]


def main(arguments: Sequence[str]) -> None:
    show(measured(7 if "--full" in arguments else 2))


if __name__ == "__main__":
    main(sys.argv[1:])

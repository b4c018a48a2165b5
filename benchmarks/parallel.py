"""Eight calls `Bash("sleep 0.5; echo i")` in one reply: from its end to the next request, against eight bare processes.

`python -m benchmarks.parallel [--full]`. Bash runs alone unless every command in it is proven to only read, so the figure
also says what the proof covers; the second one has the same commands behind a tool that touches nothing.
"""

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import anyio

from benchmarks.floor import run_shell
from benchmarks.measure import Figure, alternate, show
from benchmarks.overlap import run_ostinato
from benchmarks.scene import scene, shell_tool
from benchmarks.scripted_wire import wire_process
from ostinato.engine.options import Options

CALLS = 8
LIMIT = 1.15


def floor_s() -> float:
    """Eight shells started at once by threads, nothing around them."""
    started = time.monotonic()
    with ThreadPoolExecutor(CALLS) as threads:
        list(threads.map(run_shell, (f"sleep 0.5; echo {number}" for number in range(CALLS))))
    return time.monotonic() - started


def measured(rounds: int) -> list[Figure]:
    with scene() as place, wire_process() as wire:

        def gap_s(options: Options) -> float:
            anyio.run(partial(run_ostinato, options))
            return wire.gaps_s()[0]

        builtin, free, floor = alternate(
            rounds,
            lambda: gap_s(place.options(url=wire.url("parallel"))),
            lambda: gap_s(place.options(url=wire.url("parallel"), tools=[shell_tool()])),
            floor_s,
        )
    return [
        Figure("eight `sleep 0.5; echo i`, built-in Bash / floor, wall", builtin / floor, "×", LIMIT, _s(builtin, floor)),
        Figure("the same by a tool without accesses / floor, wall", free / floor, "×", LIMIT, _s(free, floor)),
    ]  # fmt: skip


def _s(ours: float, floor: float) -> str:
    return f"{ours:.3f} / {floor:.3f} s"


def main(arguments: Sequence[str]) -> None:
    show(measured(7 if "--full" in arguments else 2))


if __name__ == "__main__":
    main(sys.argv[1:])

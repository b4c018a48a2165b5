"""A thousand engines in one process: what each keeps in memory at rest, and what their queries cost.

`python -m benchmarks.fleet [--full]`. Memory is taken in processes of their own (`python -m benchmarks.fleet rest N`), after
each conversation has answered one prompt with one tool call, its session file open. The floor of the queries is the loop of
`benchmarks/fleet_floor.py`. Two loads: the main job in the shape that it had with a real small model, and the shortest query that has
a tool call at all, where nothing but the fixed costs is left.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from benchmarks.fleet_floor import bare_query, lean_query
from benchmarks.measure import ROOT, Figure, alternate, show
from benchmarks.scene import Scene, echo_tool, scene
from ostinato.engine.assemble import open_engine, start_engine
from ostinato.engine.query_engine import QueryEngine
from ostinato.events import Terminal
from ostinato.testing import Reply, ScriptedModel, call, say
from ostinato.testing.script import DEFAULT_PIECE_CHARACTERS
from ostinato.tool import Tool

FEW, MANY = 10, 1_000
AT_ONCE = 50
REST_LIMIT_KB = 250.0
CPU_LIMIT = 1.2

Floor = Callable[[ScriptedModel, Tool, Path | None], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Load:
    """`replies`: how many the model gives to a prompt, each but the last with a call; `deltas`: of text, in each."""

    name: str
    replies: int
    deltas: int


MAIN_JOB = Load("main job", replies=5, deltas=30)
"""`scripts/try` with the 1.5B model: Bash, Read, Edit, Bash, and the last words: 149 tokens in five replies, one a delta."""

SHORTEST = Load("one word, one tool", replies=2, deltas=1)


def model(load: Load = SHORTEST) -> ScriptedModel:
    said = say("x" * (load.deltas * DEFAULT_PIECE_CHARACTERS))
    calling = (
        Reply(said, call("Echo", f"call_{number}", text=f"{number}")) for number in range(1, load.replies)
    )
    return ScriptedModel(*calling, Reply(said), is_strict=False)


async def ask(engine: QueryEngine) -> None:
    async with aclosing(engine.submit_message("go")) as events:
        async for event in events:
            if isinstance(event, Terminal) and event.reason != "completed":
                raise RuntimeError(f"the query ended with {event}")


# ------------------------------------------------------------------------------------------------ memory


async def rest(place: Scene, count: int) -> None:
    """Open, ask once, stay open; then print the resident kilobytes."""
    tools = [echo_tool()]
    async with AsyncExitStack() as stack:
        for _ in range(count):
            options = place.options(model=model(), tools=tools)
            await ask(await stack.enter_async_context(open_engine(options)))
        print(resident_kb(), flush=True)


def resident_kb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1024


def rest_kb(count: int) -> float:
    command = [sys.executable, "-m", "benchmarks.fleet", "rest", str(count)]
    return float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def memory(rounds: int) -> list[Figure]:
    few, many = alternate(rounds, lambda: rest_kb(FEW), lambda: rest_kb(MANY))
    detail = f"{MANY:,}: {many / 1024:.0f} MB, {FEW}: {few / 1024:.0f} MB"
    return [Figure("memory of an engine at rest", (many - few) / (MANY - FEW), "kB", REST_LIMIT_KB, detail)]


# ------------------------------------------------------------------------------------------------ CPU


async def queries_of_ostinato(place: Scene, load: Load, count: int, *, keep_session: bool) -> None:
    """Start, ask, close; `AT_ONCE` at a time."""
    tools, room = [echo_tool()], anyio.CapacityLimiter(AT_ONCE)

    async def one() -> None:
        async with room:
            options = place.options(model=model(load), tools=tools, keep_session=keep_session)
            engine = await start_engine(options)
            try:
                await ask(engine)
            finally:
                await engine.aclose()

    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(one)


async def queries_of_floor(
    place: Scene, load: Load, count: int, *, keep_session: bool, query: Floor = bare_query
) -> None:
    """The same by hand: `benchmarks/fleet_floor.py` says what it does."""
    tool, room = echo_tool(), anyio.CapacityLimiter(AT_ONCE)

    async def one() -> None:
        async with room:
            await query(model(load), tool, place.folder if keep_session else None)

    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(one)


def cpu_s(run: Any, load: Load, count: int, *, keep_session: bool) -> float:
    """User and system CPU of this whole process, its threads included."""
    with scene() as place:
        started = time.process_time()
        anyio.run(partial(run, place, load, count, keep_session=keep_session))
        return time.process_time() - started


def cpu(rounds: int, count: int) -> list[Figure]:
    return [
        figure
        for load in (MAIN_JOB, SHORTEST)
        for figure in (
            cpu_figure(load, rounds, count, keep_session=False),
            cpu_figure(load, rounds, count, keep_session=True),
            lean_figure(load, rounds, count),
        )
    ]


def cpu_figure(load: Load, rounds: int, count: int, *, keep_session: bool) -> Figure:
    ours, floor = alternate(
        rounds,
        partial(cpu_s, queries_of_ostinato, load, count, keep_session=keep_session),
        partial(cpu_s, queries_of_floor, load, count, keep_session=keep_session),
    )
    detail = f"{ours / count * 1e3:.2f} / {floor / count * 1e3:.2f} ms a query"
    kept = "sessions kept" if keep_session else "nothing kept"
    return Figure(f"{count:,} × {load.name} / floor (b), {kept}, CPU", ours / floor, "×", CPU_LIMIT, detail)


def lean_figure(load: Load, rounds: int, count: int) -> Figure:
    """Published: how much of floor (b) is the hand-over of events."""
    bare, lean = alternate(
        rounds,
        partial(cpu_s, queries_of_floor, load, count, keep_session=False),
        partial(cpu_s, partial(queries_of_floor, query=lean_query), load, count, keep_session=False),
    )
    detail = f"{bare / count * 1e3:.2f} / {lean / count * 1e3:.2f} ms a query"
    return Figure(
        f"{count:,} × {load.name}, floor (b) / without hand-over, CPU", bare / lean, "×", None, detail
    )


def measured(rounds: int, count: int = MANY) -> list[Figure]:
    return [*memory(max(1, rounds // 3)), *cpu(rounds, count)]


def main(arguments: Sequence[str]) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if arguments[:1] == ["rest"]:
        with scene() as place:
            anyio.run(partial(rest, place, int(arguments[1])))
    elif "--full" in arguments:
        show(measured(9))
    else:
        show(measured(3, 300))


if __name__ == "__main__":
    main(sys.argv[1:])

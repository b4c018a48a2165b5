"""What a command costs beside the plain way: `python -m benchmarks.processes [--full]`.

A start against a captured `subprocess.run` of the same command; beside it a start in the pid namespace of a conversation, and what that
costs once (`docs/decisions/0009-pid-namespaces.md`); 50 MB of output against a loop that reads, folds and writes; the end of a conversation.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import msgspec

from benchmarks.measure import Figure, show
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.entrance import entrance_of
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.process import run_process
from ostinato.sandbox.terminal_fold import TerminalFold

COMMAND: Final = ("bash", "-c", "true")
FLOOD_BYTES: Final = 50_000_000
LINE: Final = b"a line of output, eighty bytes long or nearly so, with nothing special in it.\n"


def own_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def plain(argv: Sequence[str], env: dict[str, str]) -> None:
    subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, env=env, check=True)


def fastest_ms(take: Callable[[], None], count: int) -> float:
    times: list[float] = []
    for _ in range(count):
        started_s = time.perf_counter()
        take()
        times.append(time.perf_counter() - started_s)
    return min(times) * 1e3


class Conversation(msgspec.Struct, frozen=True):
    """Milliseconds: the first command, the fastest of the others, and our CPU for the end."""

    first_ms: float
    fastest_ms: float
    end_cpu_ms: float


async def conversation(env: dict[str, str], count: int, *, is_apart: bool) -> Conversation:
    background = BackgroundProcesses(env, None, is_apart=is_apart)
    times_ms: list[float] = []
    for _ in range(count):
        started_s = time.perf_counter()
        await run_process(
            COMMAND, cwd=Path("/"), env=env, timeout_s=20, group=background.group, is_apart=True
        )
        times_ms.append((time.perf_counter() - started_s) * 1e3)
    cpu_s = own_cpu_s()
    await background.aclose()
    return Conversation(times_ms[0], min(times_ms[1:]), (own_cpu_s() - cpu_s) * 1e3)


async def starts(rounds: int, count: int) -> list[Figure]:
    env = child_environment(os.environ)
    await conversation(
        env, 2, is_apart=True
    )  # what is made once in a process: the guard, the way into namespaces
    floor_ms: list[float] = []
    bare: list[Conversation] = []
    apart: list[Conversation] = []
    for _ in range(rounds):
        floor_ms.append(fastest_ms(partial(plain, COMMAND, env), count))
        bare.append(await conversation(env, count, is_apart=False))
        apart.append(await conversation(env, count, is_apart=True))
    floor, ours = min(floor_ms), min(one.fastest_ms for one in bare)
    detail = f"{ours:.2f} / {floor:.2f} ms, the fastest of {rounds * count}"
    figures = [
        Figure("starting a command / captured subprocess.run, wall", ours / floor, "×", 2, detail),
        Figure("ending a conversation with nothing left, CPU", _end_ms(bare), "ms"),
    ]
    if not entrance_of(os.getpid()).refusal:
        figures += in_namespaces(floor, bare, apart)
    return figures


def in_namespaces(floor_ms: float, bare: list[Conversation], apart: list[Conversation]) -> list[Figure]:
    fastest = min(one.fastest_ms for one in apart)
    more_ms = min(one.first_ms for one in apart) - min(one.first_ms for one in bare)
    return [
        Figure(
            "the same in a pid namespace of its conversation",
            fastest / floor_ms,
            "×",
            None,
            f"{fastest:.2f} ms",
        ),
        Figure("making the namespace, once in a conversation, wall", more_ms, "ms"),
        Figure("ending a conversation with a namespace, CPU", _end_ms(apart), "ms"),
    ]


def _end_ms(conversations: list[Conversation]) -> float:
    return statistics.median(one.end_cpu_ms for one in conversations)


def read_fold_write(source: Path, target: Path) -> None:
    """The floor of a flood: everything that must be done with the bytes, and nothing else."""
    fold = TerminalFold()
    with (
        subprocess.Popen(["cat", source], stdout=subprocess.PIPE, bufsize=0) as process,
        target.open("wb", 0) as file,
    ):
        assert process.stdout is not None
        while chunk := os.read(process.stdout.fileno(), 65_536):
            file.write(fold.feed(chunk))
        file.write(fold.end())


async def flood(rounds: int) -> list[Figure]:
    folder = Path(tempfile.mkdtemp())
    source, target = folder / "lines", folder / "floor"
    source.write_bytes(LINE * (FLOOD_BYTES // len(LINE)))
    ours: list[float] = []
    floor: list[float] = []
    peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        for _ in range(rounds):
            cpu_s = own_cpu_s()
            read_fold_write(source, target)
            floor.append(own_cpu_s() - cpu_s)
            cpu_s = own_cpu_s()
            result = await run_process(
                ["cat", str(source)],
                cwd=folder,
                env=os.environ,
                timeout_s=60,
                spill_dir=folder / "spill",
                folds=True,
            )
            ours.append(own_cpu_s() - cpu_s)
            if result.spill_path is not None:
                result.spill_path.unlink()
    finally:
        shutil.rmtree(folder)
    peak_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before) / 1024
    detail = f"{min(ours) * 1e3:.0f} / {min(floor) * 1e3:.0f} ms"
    return [
        Figure(
            "50 MB of output / read, fold and write it, own CPU", min(ours) / min(floor), "×", 1.3, detail
        ),
        Figure("its peak memory over that of the floor", peak_mb, "MB", 20),
    ]


def main(arguments: Sequence[str]) -> None:
    is_full = "--full" in arguments
    show(anyio.run(starts, 5 if is_full else 2, 60 if is_full else 20))
    show(anyio.run(flood, 9 if is_full else 3))


if __name__ == "__main__":
    main(sys.argv[1:])

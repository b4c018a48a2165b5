"""What a command costs beside the plain way: `python -m benchmarks.processes [--full]`.

A start against a captured `subprocess.run` of the same command, and a start in a pid namespace beside it (which we do not use,
`docs/decisions/0007-no-orphans.md`); 50 MB of output against a loop that reads, folds and writes; the end of a conversation.
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

from benchmarks.measure import Figure, show
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.process import run_process
from ostinato.sandbox.terminal_fold import TerminalFold

COMMAND: Final = ("bash", "-c", "true")
NAMESPACE: Final = ("unshare", "--pid", "--fork", "--kill-child", "--", *COMMAND)
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


async def our_fastest_ms(background: BackgroundProcesses, env: dict[str, str], count: int) -> float:
    times: list[float] = []
    for _ in range(count):
        started_s = time.perf_counter()
        await run_process(COMMAND, cwd=Path("/"), env=env, timeout_s=20, group=background.group)
        times.append(time.perf_counter() - started_s)
    return min(times) * 1e3


async def starts(rounds: int, count: int) -> list[Figure]:
    env = child_environment(os.environ)
    ours: list[float] = []
    floor: list[float] = []
    spaces: list[float] = []
    ends_ms: list[float] = []
    for _ in range(rounds):
        floor.append(fastest_ms(partial(plain, COMMAND, env), count))
        background = BackgroundProcesses(env, None)
        ours.append(await our_fastest_ms(background, env, count))
        cpu_s = own_cpu_s()
        await background.aclose()
        ends_ms.append((own_cpu_s() - cpu_s) * 1e3)
        if has_namespaces(env):
            spaces.append(fastest_ms(partial(plain, NAMESPACE, env), count))
    detail = f"{min(ours):.2f} / {min(floor):.2f} ms, the fastest of {rounds * count}"
    figures = [
        Figure("starting a command / captured subprocess.run, wall", min(ours) / min(floor), "×", 2, detail),
        Figure("ending a conversation with nothing left, CPU", statistics.median(ends_ms), "ms"),
    ]
    if spaces:
        detail = f"{min(spaces):.2f} ms; not used"
        ratio = min(spaces) / min(floor)
        figures.insert(1, Figure("subprocess.run in a pid namespace / without", ratio, "×", None, detail))
    return figures


def has_namespaces(env: dict[str, str]) -> bool:
    try:
        plain(NAMESPACE, env)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


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

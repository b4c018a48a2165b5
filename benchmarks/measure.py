"""Figures and how they are taken: interleaved repeats (A B A B …), medians, CPU time where it can be had.

A machine that is busy slows both sides of a ratio alike; only repeats that alternate make that true.
"""

import os
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure. `target` None: published, nothing is promised. `limit` is the most that `value` may be."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    detail: str = ""

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return "–"
        return "met" if self.value <= self.limit else "MISSED"

    def line(self) -> str:
        target = "–" if self.limit is None else f"≤ {self.limit:g} {self.unit}"
        return (
            f"{self.name:<64} {self.value:>9.2f} {self.unit:<6} {target:<14} {self.verdict:<7} {self.detail}"
        )


def show(figures: Sequence[Figure]) -> None:
    for figure in figures:
        print(figure.line(), flush=True)


def alternate(rounds: int, *takes: Callable[[], float]) -> list[float]:
    """The median of each take, all taken in turns, `rounds` times."""
    values: list[list[float]] = [[] for _ in takes]
    for _ in range(rounds):
        for kept, take in zip(values, takes, strict=True):
            kept.append(take())
    return [statistics.median(kept) for kept in values]


def child_cpu_s(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> float:
    """CPU seconds, user and system, of a program from start to end. Raises RuntimeError if it fails."""
    process = subprocess.Popen(
        list(argv), env=dict(env), cwd=cwd, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{list(argv)} exited with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def cpu_so_far_s(pid: int) -> float:
    """CPU seconds of all threads of a running process, to the nanosecond (Linux)."""
    total_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total_ns += int((task / "schedstat").read_text().split()[0])
    return total_ns / 1e9

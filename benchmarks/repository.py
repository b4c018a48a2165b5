"""What a git repository around the folder adds to a whole `ostinato -p`: the command then tells the model what git says of it.

Run `python -m benchmarks.repository [--full]`. The same prompt in a folder with a repository and in one without, in turns. CPU is that of the
command and of all programs that it ran; "of its own" is what it had used itself when its first request was complete.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.measure import Figure, alternate, show
from benchmarks.startup import FirstRequest, bare_env, wheel_environment

FILES, COMMITS = 200, 20


def make_repository(folder: Path) -> None:
    """A small one: some commits, one file changed since."""
    for number in range(FILES):
        (folder / f"f{number}.py").write_text(f"print({number})\n")
    git = ("git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "."),
        *[("commit", "-q", "--allow-empty", "-m", f"commit {number}") for number in range(COMMITS)],
    ):
        subprocess.run((*git, *words), cwd=folder, env=bare_env(folder), check=True)
    (folder / "f0.py").write_text("print()\n")


class Runs:
    """`ostinato -p` in one folder, and what each run took."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self._first = FirstRequest(environment, folder)
        self.own_cpu_s = 0.0
        self.wall_s = 0.0

    def cpu(self) -> float:
        """Of the whole run; the other two are kept."""
        before_s, started = children_cpu_s(), time.perf_counter()
        self.own_cpu_s = self._first.ostinato()
        self.wall_s = time.perf_counter() - started
        return children_cpu_s() - before_s


def children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(rounds: int) -> list[Figure]:
    environment = wheel_environment()
    with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as repository:
        make_repository(Path(repository))
        without, within = Runs(environment, Path(plain)), Runs(environment, Path(repository))
        takes: list[Callable[[], float]] = []
        for runs in (without, within):
            takes += [runs.cpu, lambda runs=runs: runs.own_cpu_s, lambda runs=runs: runs.wall_s]
        plain_cpu, plain_own, plain_wall, cpu, own, wall = alternate(rounds, *takes)
    return [
        _added("added CPU, git's included", cpu, plain_cpu),
        _added("added CPU of its own until the first request", own, plain_own),
        _added("added wall", wall, plain_wall),
    ]


def _added(name: str, within_s: float, without_s: float) -> Figure:
    detail = f"{within_s * 1e3:.0f} / {without_s * 1e3:.0f} ms"
    return Figure(
        f"`ostinato -p` in a git repository, {name}", (within_s - without_s) * 1e3, "ms", None, detail
    )


def main(arguments: Sequence[str]) -> None:
    show(measured(21 if "--full" in arguments else 5))


if __name__ == "__main__":
    main(sys.argv[1:])

"""What starting costs, in an environment that holds the built wheel and its dependencies and nothing else.

`python -m benchmarks.startup [--full]`; with `--imports` also what dominates the way to the first request.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measure import ROOT, Figure, alternate, child_cpu_s, cpu_so_far_s, show
from benchmarks.scripted_wire import ScriptedWire

MODEL = "anthropic/claude-sonnet-4-5"
CACHE = Path(tempfile.gettempdir()) / f"ostinato-benchmarks-{os.getuid()}"


def wheel_environment() -> Path:
    """The folder of an environment with a freshly built ostinato; the dependencies in it are kept between runs."""
    uv = shutil.which("uv") or os.environ.get("UV")
    if uv is None:
        raise RuntimeError("`uv` is needed to build the environment: put it in PATH, or name it in UV")
    environment = CACHE / "environment"
    python = environment / "bin" / "python"
    if not python.exists():
        _quiet(uv, "venv", "-q", "--python", sys.executable, str(environment))
    wheels = CACHE / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    _quiet(uv, "build", "-q", "--wheel", "-o", str(wheels), str(ROOT))
    wheel = next(wheels.glob("*.whl"))
    # Compiled as an installer does it: the first start of all would pay for that otherwise.
    install = (uv, "pip", "install", "-q", "--compile-bytecode", "--reinstall-package", "ostinato")
    _quiet(*install, "--python", str(python), str(wheel))
    return environment


def _quiet(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class FirstRequest:
    """CPU seconds that a program has used when its first request is complete at the server."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self.python = environment / "bin" / "python"
        self._folder = folder
        self._cpu_s = 0.0
        self._pid = 0
        self._runs = 0
        self._wire = ScriptedWire(self._seen)

    def _seen(self) -> None:
        if self._pid:
            self._cpu_s = cpu_so_far_s(self._pid)

    def url(self) -> str:
        self._runs += 1
        return f"http://127.0.0.1:{self._wire.port}/{self._runs}/hello"

    def of(self, *command: str, env: Mapping[str, str]) -> float:
        process = subprocess.Popen(
            [self.python, *command], env=dict(env), cwd=self._folder, stdout=subprocess.DEVNULL
        )
        self._pid = process.pid
        if process.wait() != 0:
            raise RuntimeError(f"{command} exited with {process.returncode}")
        return self._cpu_s

    def floor(self, which: str) -> float:
        return self.of(str(ROOT / "benchmarks" / "floor.py"), which, self.url(), env=bare_env(self._folder))

    def command(self) -> list[str]:
        return [str(self.python.with_name("ostinato")), "-p", "hi", "--model", MODEL]

    def env(self) -> dict[str, str]:
        return {**bare_env(self._folder), "ANTHROPIC_BASE_URL": self.url(), "ANTHROPIC_API_KEY": "none"}

    def ostinato(self) -> float:
        return self.of(*self.command(), env=self.env())


def bare_env(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "OSTINATO_HOME": str(folder / "data")}


LIBRARY = """
import anyio, os
from ostinato import query
async def main():
    async for event in query("hi", model=os.environ["MODEL"]):
        pass
anyio.run(main)
"""


def measured(rounds: int) -> list[Figure]:
    environment = wheel_environment()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = bare_env(folder)
        first = FirstRequest(environment, folder)
        python, command = str(first.python), first.command()[0]

        def cpu(*argv: str) -> float:
            return child_cpu_s(argv, env=env, cwd=folder)

        nothing, version, imported, named = alternate(
            rounds,
            lambda: cpu(python, "-c", "pass"),
            lambda: cpu(python, command, "--version"),
            lambda: cpu(python, "-c", "import ostinato"),
            lambda: cpu(python, "-c", "from ostinato import query"),
        )
        floor, same, ours, library = alternate(
            rounds,
            lambda: first.floor("standard"),
            lambda: first.floor("same_libraries"),
            first.ostinato,
            lambda: first.of("-c", LIBRARY, env=first.env() | {"MODEL": MODEL}),
        )
    return [
        Figure("`ostinato --version` / `python -c pass`, CPU", version / nothing, "×", 2.0, _ms(version, nothing)),
        Figure("`import ostinato` / `python -c pass`, CPU", imported / nothing, "×", None, _ms(imported, nothing)),
        Figure("`from ostinato import query`, added CPU", (named - nothing) * 1e3, "ms"),
        Figure("floor (b) to its first request / floor (a), CPU", same / floor, "×", None, _ms(same, floor)),
        Figure("`query()` to its first request / floor (a), CPU", library / floor, "×", None, _ms(library, floor)),
        Figure("`ostinato -p` to its first request / floor (a), CPU", ours / floor, "×", 4.0, _ms(ours, floor)),
    ]  # fmt: skip


def _ms(ours_s: float, floor_s: float) -> str:
    return f"{ours_s * 1e3:.0f} / {floor_s * 1e3:.0f} ms"


# ------------------------------------------------------------------------------------------------ what dominates


def imports(environment: Path) -> list[tuple[str, float, int]]:
    """Top-level package, milliseconds of its own (wall, as `-X importtime` tells), modules; the most first."""
    with tempfile.TemporaryDirectory() as name:
        first = FirstRequest(environment, Path(name))
        command = [str(first.python), "-X", "importtime", *first.command()]
        done = subprocess.run(command, env=first.env(), cwd=name, capture_output=True, text=True, check=True)
    times: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for line in done.stderr.splitlines():
        own, _, module = (
            line.removeprefix("import time:").split("|") if line.count("|") == 2 else ("", "", "")
        )
        if own.strip().isdecimal():
            package = module.strip().split(".")[0]
            times[package] += int(own)
            modules[package] += 1
    return [(package, own_us / 1000, modules[package]) for package, own_us in times.most_common()]


def main(arguments: Sequence[str]) -> None:
    show(measured(21 if "--full" in arguments else 5))
    if "--imports" in arguments:
        for package, own_ms, count in imports(CACHE / "environment")[:25]:
            print(f"{own_ms:8.1f} ms  {count:4} modules  {package}")


if __name__ == "__main__":
    main(sys.argv[1:])

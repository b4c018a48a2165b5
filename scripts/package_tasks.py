"""One free task in each real package for a local model: a test of the package fails, and the model is told so and left alone.

`python -m scripts.package_tasks --model FILE.gguf [--packages click,flask]`. What happened is told as it was: how the query ended,
whether the tests pass now, and which files are not as they were shipped.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import anyio
import msgspec
from benchmarks.local_tasks import show_nothing, show_turn
from scripts.real_packages import (
    PACKAGES,
    Package,
    Unreachable,
    broken,
    cache_folder,
    digests,
    environment_folder,
    unpacked,
)

import ostinato
from ostinato.engine.result import result_of_events
from ostinato.events import AssistantEvent, Event

MAX_TURNS = 12
MAX_TASK_S = 900.0
TESTS_TIMEOUT_S = 120.0


class Told(msgspec.Struct, frozen=True):
    """`changed` are files that are not as shipped: none where the repair is the authors' own text."""

    package: str
    reason: str
    is_passing: bool
    changed: Sequence[str]
    turns: int
    seconds: float
    last_words: str


async def work(package: Package, model: str, cache: Path, show: Callable[[Event], None]) -> Told:
    """Raises Unreachable."""
    programs = environment_folder(cache)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = package.test_command(package.small)
    with tempfile.TemporaryDirectory(prefix="package-") as temporary:
        folder = Path(temporary, package.name)
        unpacked(package, cache, folder)
        shipped = digests(folder)
        broken(folder, package.small)
        prompt = f"Running `{command}` fails. Fix the bug in {package.small.path} so that it passes."
        events: list[Event] = []
        began_s = time.monotonic()
        with anyio.move_on_after(MAX_TASK_S) as limit:
            await ask(prompt, model, folder, environment, lambda event: (events.append(event), show(event)))
        seconds = time.monotonic() - began_s
        result = None if limit.cancelled_caught else result_of_events(events)
        return Told(
            package=package.file_name,
            reason="time_limit" if result is None else result.reason,
            is_passing=passes(command, folder, environment),
            changed=[name for name, digest in digests(folder).items() if shipped.get(name) != digest],
            turns=sum(isinstance(event, AssistantEvent) for event in events),
            seconds=seconds,
            last_words="" if result is None else result.text,
        )


async def ask(
    prompt: str,
    model: str,
    folder: Path,
    environment: Mapping[str, str],
    show: Callable[[Event], object],
) -> None:
    options = ostinato.Options(
        cwd=folder,
        model=model,
        permission_mode="acceptEdits",
        allowed_tools=["Bash"],
        max_turns=MAX_TURNS,
        temperature=0,
        keep_session=False,
        environment=environment,
    )
    async with ostinato.open_engine(options) as engine, aclosing(engine.submit_message(prompt)) as asked:
        async for event in asked:
            show(event)


def passes(command: str, folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether the tests pass now; nobody's word is taken for it."""
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TESTS_TIMEOUT_S,
        check=False,
    )
    return ended.returncode == 0


def tell(told: Told) -> None:
    changed = ", ".join(told.changed) or "nothing"
    verdict = "tests pass" if told.is_passing else "tests FAIL"
    print(
        f"{told.package}: {verdict}; ended {told.reason} after {told.turns} replies, {told.seconds:.0f} s"
        f" (load {os.getloadavg()[0]:.1f}); not as shipped: {changed}; last words {told.last_words[:200]!r}",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.package_tasks", description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--packages", default="", help="only these, separated by commas")
    parser.add_argument("--transcript", action="store_true", help="show calls and results")
    given = parser.parse_args(arguments)
    wanted = [name for name in given.packages.split(",") if name]
    model = f"local/{Path(given.model).expanduser().resolve()}"
    for package in PACKAGES:
        if wanted and package.name not in wanted:
            continue
        show = show_turn if given.transcript else show_nothing
        try:
            tell(anyio.run(work, package, model, cache_folder(os.environ), show))
        except Unreachable as error:
            print(f"{package.file_name}: not tried: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

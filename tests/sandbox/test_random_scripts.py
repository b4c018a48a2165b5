"""Random scripts with random ends leave nothing: processes, descriptors, threads and temporary files are as before.

`OSTINATO_RANDOM_SCRIPTS=500` runs more of them, with other seeds than the usual ones.
"""

import os
import random
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

import anyio
import pytest
from tests.sandbox.test_process import has_zombies, survivors

from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.process import run_process

COUNT: Final = int(os.environ.get("OSTINATO_RANDOM_SCRIPTS", "24"))

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(60 + COUNT),
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc"),
]

PIECES: Final = (
    "echo said; ",
    "head -c 200000 /dev/zero | tr '\\0' x; ",
    "printf '10%%\\r20%%\\r'; ",
    "sleep 0.02; ",
    "sleep 77 & ",
    "setsid sleep 77 & ",
    "(setsid -f sleep 77 >/dev/null 2>&1); ",
    "nohup sleep 77 >/dev/null 2>&1 & ",
    "(trap '' TERM; exec sleep 77) & ",
    "trap '' TERM; ",
    "trap 'echo bye; exit 0' TERM; ",
    "(while :; do echo y; done) & ",
    "cat; ",
    "read x; ",
    "exec 2>&-; ",
    "false; ",
    "( exit 7 ); ",
    "mkfifo f$RANDOM; ",
    "cat <<END >/dev/null\ntext\nEND\n",
)
LAST: Final = ("", "sleep 78", "exit 3", "wait", "kill -9 $$", "kill -TERM $$", "yes", "exec sleep 78")


class Machine:
    """What there is now, beside what was there when the test began."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._before = self._now()

    def _now(self) -> tuple[int, set[str], set[str]]:
        threads = {thread.name for thread in threading.enumerate() if thread.name.startswith("ostinato")}
        files = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith(("output-", "stdin"))}
        return len(os.listdir("/dev/fd")), threads, files

    def is_as_before(self) -> bool:
        descriptors, threads, files = self._now()
        was = self._before
        is_clean = not survivors(self._environment) and not has_zombies()
        return is_clean and descriptors <= was[0] and threads <= was[1] and files <= was[2]


async def one(
    chance: random.Random, folder: Path, environment: dict[str, str], group: BackgroundProcesses
) -> None:
    script = "".join(chance.choices(PIECES, k=chance.randint(0, 5))) + chance.choice(LAST)
    end = chance.choice(("timeout", "abort", "background", "background and stop"))
    if end.startswith("background"):
        facts = group.start(script, folder=folder, call_id=str(chance.random()))
        await anyio.sleep(chance.choice((0, 0.01, 0.1)))
        group.read(facts.task_id, offset=None, max_bytes=1000)
        if end.endswith("stop"):
            await group.stop(facts.task_id)
        return
    with anyio.CancelScope() as scope:
        if end == "abort":
            scope.deadline = anyio.current_time() + chance.choice((0, 0.005, 0.05, 0.2))
        await run_process(
            ("bash", "-c", script),
            cwd=folder,
            env=environment,
            timeout_s=chance.choice((0.05, 0.2)) if end == "timeout" else 5,
            max_output_bytes=chance.choice((100, 30_000)),
            spill_dir=folder,
            stdin=chance.choice((None, b"given\n" * 1000)),
            on_output=chance.choice((None, lambda _text: None)),
            group=group.group,
            folds=chance.choice((True, False)),
        )


async def test_nothing_is_left_of_random_scripts_with_random_ends(tmp_path: Path):
    environment = child_environment(os.environ) | {"OSTINATO_TEST": os.urandom(8).hex()}
    await run_process(
        ("true",), cwd=tmp_path, env=environment, timeout_s=20
    )  # what lives as long as the process
    machine = Machine(environment)
    seed = 7 if COUNT == 24 else int.from_bytes(os.urandom(4), "big")
    chance = random.Random(seed)
    for start in range(0, COUNT, 4):
        group = BackgroundProcesses(environment, tmp_path)
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                own = random.Random(f"{seed} {start + number} {chance.random()}")
                tasks.start_soon(one, own, tmp_path, environment, group)
        await group.aclose()
        with anyio.fail_after(3):
            while not machine.is_as_before():
                await anyio.lowlevel.checkpoint()

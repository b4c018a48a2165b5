"""Random scripts with random ends leave nothing: processes, descriptors, threads and temporary files are as before.

`OSTINATO_RANDOM_SCRIPTS=500` runs more of them, with another seed than the usual one; it is printed, and `OSTINATO_RANDOM_SEED` chooses one.
"""

import os
import random
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

import anyio
import anyio.lowlevel
import pytest
from tests.sandbox.test_process import has_zombies, survivors

from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.process import run_process
from ostinato.sandbox.process_status import lacking_right

COUNT: Final = int(os.environ.get("OSTINATO_RANDOM_SCRIPTS", "12"))
USUAL_SEED: Final = 9
SEED: Final = int(
    os.environ.get("OSTINATO_RANDOM_SEED")
    or (USUAL_SEED if COUNT == 12 else int.from_bytes(os.urandom(4), "big"))
)

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


def temporary_files(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if name.startswith(("output-", "stdin"))}


class Machine:
    """What there is now, beside what was there when the test began. Of the folder for long outputs only what was `named` to somebody
    may be there.
    """

    def __init__(self, environment: dict[str, str], spill_dir: Path) -> None:
        self._environment = environment
        self._spill_dir = spill_dir
        self.named: set[str] = set()
        self._before = self._now()

    def names(self, path: Path | None) -> None:
        if path is not None:
            self.named.add(path.name)

    def _now(self) -> tuple[int, set[str], set[str]]:
        threads = {thread.name for thread in threading.enumerate() if thread.name.startswith("ostinato")}
        return len(os.listdir("/dev/fd")), threads, temporary_files(Path(tempfile.gettempdir()))

    def left(self) -> dict[str, object]:
        """What is there now and was not, or should not be."""
        descriptors, threads, files = self._now()
        was = self._before
        found: dict[str, object] = {
            "processes": survivors(self._environment),
            "zombies": has_zombies(),
            "descriptors": max(0, descriptors - was[0]),
            "threads": threads - was[1],
            "temporary files": files - was[2],
            "long outputs": temporary_files(self._spill_dir) ^ self.named,
        }
        return {kind: what for kind, what in found.items() if what}


async def one(
    chance: random.Random,
    folder: Path,
    environment: dict[str, str],
    group: BackgroundProcesses,
    machine: Machine,
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
        result = await run_process(
            ("bash", "-c", script),
            cwd=folder,
            env=environment,
            timeout_s=chance.choice((0.05, 0.2)) if end == "timeout" else 5,
            max_output_bytes=chance.choice((100, 30_000)),
            spill_dir=folder,
            stdin=chance.choice((None, b"given\n" * 1000)),
            on_output=chance.choice((None, lambda _text: None)),
            group=group.group,
            is_apart=True,
            folds=chance.choice((True, False)),
        )
        machine.names(result.spill_path)


@pytest.mark.parametrize("is_apart", [True, False], ids=["in a pid namespace", "by marks alone"])
async def test_nothing_is_left_of_random_scripts_with_random_ends(tmp_path: Path, is_apart: bool):
    if is_apart and lacking_right():
        pytest.skip(lacking_right())
    environment = child_environment(os.environ) | {"OSTINATO_TEST": os.urandom(8).hex()}
    # What lives as long as the process comes first.
    first = BackgroundProcesses(environment, None, is_apart=is_apart)
    await run_process(
        ("true",), cwd=tmp_path, env=environment, timeout_s=20, group=first.group, is_apart=True
    )
    await first.aclose()
    machine = Machine(environment, tmp_path)
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    for start in range(0, COUNT, 4):
        group = BackgroundProcesses(environment, tmp_path, is_apart=is_apart)
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                own = random.Random(f"{SEED} {start + number} {chance.random()}")
                tasks.start_soon(one, own, tmp_path, environment, group, machine)
        await group.aclose()
        for facts in group.all():
            machine.names(facts.output_path)
        with anyio.move_on_after(3):
            while machine.left():
                await anyio.lowlevel.checkpoint()
        assert machine.left() == {}

"""Commands in the background: heard while nobody waits, ended by themselves, on request, and with the conversation."""

import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import anyio
import pytest
from tests.sandbox.test_process import is_alive, survivors, wait_for_file, wait_until_gone

from ostinato.errors import UsageError
from ostinato.processes import BackgroundFacts
from ostinato.sandbox.background import MAX_REMEMBERED, MAX_RUNNING, BackgroundProcesses
from ostinato.sandbox.environment import child_environment

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc"),
]


@pytest.fixture
def environment() -> dict[str, str]:
    return child_environment(os.environ) | {"OSTINATO_TEST": os.urandom(8).hex()}


class Here(BackgroundProcesses):
    """Everything starts in one folder."""

    def __init__(
        self,
        folder: Path,
        environment: dict[str, str],
        spill_dir: Path | None,
        on_end: Callable[[BackgroundFacts], None] | None = None,
    ) -> None:
        super().__init__(environment, spill_dir, on_end)
        self.folder = folder


@pytest.fixture
async def background(tmp_path: Path, environment: dict[str, str]) -> AsyncGenerator[Here, None]:
    processes = Here(tmp_path, environment, tmp_path / "spill")
    yield processes
    await processes.aclose()


def start(background: Here, script: str, call_id: str = "call") -> str:
    return background.start(script, folder=background.folder, call_id=call_id).task_id


def facts_of(background: Here, task_id: str) -> BackgroundFacts:
    return next(facts for facts in background.all() if facts.task_id == task_id)


async def text_until(background: Here, task_id: str, wanted: str) -> str:
    """What readings without an offset give, until it holds the wanted text."""
    text = ""
    with anyio.fail_after(10):
        while wanted not in text:
            text += background.read(task_id, offset=None, max_bytes=30_000).text
            await anyio.sleep(0.005)
    return text


async def test_output_can_be_read_while_it_runs_each_part_once(background: Here, tmp_path: Path):
    task_id = start(background, "echo one; while ! test -e go; do sleep 0.01; done; echo two; sleep 60")
    assert await text_until(background, task_id, "one\n") == "one\n"
    assert background.read(task_id, offset=None, max_bytes=100).text == ""
    (tmp_path / "go").touch()
    assert await text_until(background, task_id, "two\n") == "two\n"
    assert background.read(task_id, offset=0, max_bytes=100).text == "one\ntwo\n"
    assert background.read(task_id, offset=4, max_bytes=100).text == "two\n"
    assert facts_of(background, task_id).state == "running"


async def test_an_end_of_its_own_is_known_with_its_code_and_all_output(background: Here):
    task_id = start(background, "echo done; exit 3")
    await background.wait(task_id, 10)
    facts = facts_of(background, task_id)
    assert (facts.state, facts.exit_code, facts.total_bytes) == ("exited", 3, 5)
    assert facts.output_path is not None
    assert facts.output_path.read_text() == "done\n"
    assert not facts.is_end_known
    background.read(task_id, offset=None, max_bytes=100)
    assert facts_of(background, task_id).is_end_known


async def test_a_wait_has_an_end(background: Here):
    task_id = start(background, "sleep 60")
    with anyio.fail_after(5):
        await background.wait(task_id, 0.05)
    assert facts_of(background, task_id).state == "running"


@pytest.mark.parametrize(
    "script",
    [
        "sleep 99",
        "(setsid setsid sleep 99 &); nohup sleep 98 >/dev/null 2>&1 & sleep 99",
        "trap '' TERM; (trap '' TERM; setsid sleep 98 &); while :; do sleep 1; done",
    ],
)
async def test_a_stop_ends_the_whole_tree(background: Here, environment: dict[str, str], script: str):
    task_id = start(background, f"echo go; {script}")
    await text_until(background, task_id, "go")
    facts = await background.stop(task_id)
    assert (facts.state, facts.exit_code) == ("stopped", None)
    assert survivors(environment) == []


async def test_a_stop_lets_it_say_goodbye_and_a_second_stop_changes_nothing(background: Here):
    task_id = start(background, "trap 'echo bye; exit 0' TERM; echo go; while :; do sleep 0.01; done")
    await text_until(background, task_id, "go")
    assert (await background.stop(task_id)).state == "stopped"
    assert background.read(task_id, offset=None, max_bytes=100).text.endswith("bye\n")
    assert (await background.stop(task_id)).state == "stopped"


async def test_closing_ends_all_and_starts_nothing_more(tmp_path: Path, environment: dict[str, str]):
    descriptors = len(os.listdir("/dev/fd"))
    background = Here(tmp_path, environment, tmp_path / "spill")
    for number in range(3):
        task_id = start(background, "echo go; (setsid sleep 99 &); trap '' TERM; sleep 98", str(number))
        await text_until(background, task_id, "go")
    await background.aclose()
    assert survivors(environment) == []
    assert {facts.state for facts in background.all()} == {"stopped"}
    with pytest.raises(UsageError):
        start(background, "true", "later")
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("ostinato-bash")] == []
    assert (
        len(os.listdir("/dev/fd")) <= descriptors + 1
    )  # the guard's pipe, if this was the first process at all


async def test_a_cancelled_close_ends_all_the_same(tmp_path: Path, environment: dict[str, str]):
    background = Here(tmp_path, environment, None)
    task_id = start(background, "trap '' TERM; echo go; while :; do sleep 1; done")
    await text_until(background, task_id, "go")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await background.aclose()
    await wait_until_gone(environment)


async def test_what_an_ended_command_left_behind_is_heard_and_ends_with_the_conversation(
    background: Here, environment: dict[str, str], tmp_path: Path
):
    task_id = start(
        background, "(while ! test -e go; do sleep 0.01; done; echo late; exec sleep 99) & echo early"
    )
    await background.wait(task_id, 10)
    assert facts_of(background, task_id).state == "exited"
    (tmp_path / "go").touch()
    await text_until(background, task_id, "late")
    await background.aclose()
    assert survivors(environment) == []


async def test_too_many_are_refused_with_the_names_of_those_that_run(background: Here):
    ids = [start(background, "sleep 60", str(number)) for number in range(MAX_RUNNING)]
    with pytest.raises(UsageError) as refused:
        start(background, "sleep 60", "one more")
    assert ids[0] in refused.value.hint
    await background.stop(ids[0])
    start(background, "sleep 60", "one more")


async def test_the_oldest_ended_ones_are_forgotten(background: Here):
    keeps = start(background, "sleep 60", "keeps")
    first = ""
    for number in range(MAX_REMEMBERED + 3):
        task_id = start(background, "true", str(number))
        await background.wait(task_id, 10)
        with anyio.fail_after(5):
            while any(thread.name == f"ostinato-{task_id}" for thread in threading.enumerate()):
                await anyio.lowlevel.checkpoint()
        first = first or task_id
    assert len(background.all()) <= MAX_REMEMBERED
    assert facts_of(background, keeps).state == "running"
    with pytest.raises(UsageError):
        background.read(first, offset=None, max_bytes=1)


async def test_a_folder_that_is_not_there_is_said_at_once(background: Here, tmp_path: Path):
    with pytest.raises(UsageError, match="folder"):
        background.start("true", folder=tmp_path / "none", call_id="c")
    assert background.all() == []


async def test_who_wants_to_know_hears_of_an_end_in_the_loop_of_the_start(
    tmp_path: Path, environment: dict[str, str]
):
    heard: list[tuple[str, bool]] = []
    told = anyio.Event()
    here = threading.get_ident()

    def on_end(facts: BackgroundFacts) -> None:
        heard.append((facts.task_id, threading.get_ident() == here))
        told.set()

    background = Here(tmp_path, environment, None, on_end)
    stopped = start(background, "sleep 60", "stopped")
    await background.stop(stopped)
    ended = start(background, "true", "ended")
    with anyio.fail_after(10):
        await told.wait()
    assert heard == [(ended, True)]
    await background.aclose()


async def test_a_flood_costs_no_memory_and_does_not_hold_its_end_up(background: Here, tmp_path: Path):
    task_id = start(background, "head -c 50000000 /dev/zero | tr '\\0' x; echo last")
    await background.wait(task_id, 30)
    facts = facts_of(background, task_id)
    assert (facts.state, facts.total_bytes) == ("exited", 50_000_005)
    assert background.read(task_id, offset=50_000_000, max_bytes=100).text == "last\n"


async def test_standard_input_is_empty_and_the_pid_is_one_that_others_know(background: Here, tmp_path: Path):
    task_id = start(background, "cat; echo $$ > pid; sleep 60")
    assert is_alive(await wait_for_file(tmp_path / "pid"))
    assert facts_of(background, task_id).state == "running"

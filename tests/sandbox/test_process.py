"""Real children: they end when they should, take their whole tree with them, and cannot flood or hang us."""

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import anyio
import pytest

from ostinato.errors import UsageError
from ostinato.processes import ProcessResult
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.process import run_process

pytestmark = pytest.mark.process

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="finds escaped processes through /proc")


class Run(Protocol):
    async def __call__(
        self, *argv: str, timeout_s: float = 20, max_output_bytes: int = 30_000
    ) -> ProcessResult: ...


@pytest.fixture
def environment() -> dict[str, str]:
    """Marked by the test itself, so that it finds survivors by other means than the code under test."""
    return child_environment(os.environ) | {"OSTINATO_TEST": os.urandom(8).hex()}


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Run:
    async def run_here(*argv: str, timeout_s: float = 20, max_output_bytes: int = 30_000) -> ProcessResult:
        return await run_process(
            argv, cwd=tmp_path, env=environment, timeout_s=timeout_s, max_output_bytes=max_output_bytes
        )

    return run_here


def survivors(environment: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if environment["OSTINATO_TEST"].encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
    return found


async def wait_until_gone(environment: Mapping[str, str], within_s: float = 2) -> None:
    with anyio.fail_after(within_s):
        while survivors(environment):
            await anyio.lowlevel.checkpoint()


async def wait_for_file(path: Path) -> str:
    """The file's first line, once it is whole."""
    while True:
        with anyio.fail_after(10):
            await anyio.lowlevel.checkpoint()
            if await anyio.Path(path).exists() and (text := await anyio.Path(path).read_text()).endswith(
                "\n"
            ):
                return text.strip()


def is_alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def has_zombies() -> bool:
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


# ----------------------------------------------------------------------------------------------------- the plain course


async def test_output_and_exit_code_come_back(run: Run):
    result = await run("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.output, result.stderr) == (3, "out\nerr\n", "")
    assert (result.total_bytes, result.timed_out, result.spill_path) == (8, False, None)


async def test_a_signal_the_child_died_of_is_a_negative_code(run: Run):
    assert (await run("sh", "-c", "kill -9 $$")).exit_code == -9


async def test_standard_error_comes_apart_when_asked_for_and_a_flood_of_it_blocks_nobody(
    tmp_path: Path, environment: dict[str, str]
):
    script = "for i in 1 2 3; do head -c 1000000 /dev/zero >&2; echo $i; done"
    result = await run_process(
        ["sh", "-c", script],
        cwd=tmp_path,
        env=environment,
        timeout_s=20,
        separate_stderr=True,
        max_output_bytes=1000,
    )
    assert result.output == "1\n2\n3\n"
    assert 0 < len(result.stderr) <= 1000
    assert result.total_bytes == 3_000_006


async def test_output_survives_a_script_that_opens_dev_stderr_anew(run: Run):
    result = await run(
        "sh", "-c", "echo first; echo second > /dev/stderr; echo third | tee /dev/stderr; echo last"
    )
    assert sorted(result.output.split()) == ["first", "last", "second", "third", "third"]


async def test_standard_input_is_what_was_given(tmp_path: Path, environment: dict[str, str]):
    given = b"line\n" * 100_000
    result = await run_process(["wc", "-c"], cwd=tmp_path, env=environment, timeout_s=20, stdin=given)
    assert result.output.split() == ["500000"]


async def test_the_child_gets_the_environment_given_and_its_run_only(tmp_path: Path):
    result = await run_process(["/usr/bin/env"], cwd=tmp_path, env={"A": "b"}, timeout_s=20)
    assert {line.partition("=")[0] for line in result.output.splitlines()} == {"A", "OSTINATO_RUN_ID"}


@LINUX
async def test_the_child_inherits_no_descriptor(run: Run):
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        result = await run("ls", "/proc/self/fd")
    finally:
        os.close(reader)
        os.close(writer)
    # `ls` itself opens the fourth.
    assert result.output.split() == ["0", "1", "2", "3"]


@LINUX
async def test_the_child_leads_a_session_of_its_own_without_a_terminal_and_reads_nothing(run: Run):
    result = await run("sh", "-c", "echo $$; cut -d ' ' -f 6,7 /proc/$$/stat; readlink /proc/self/fd/0")
    pid, session, terminal, source = result.output.split()
    assert (session, terminal, source) == (pid, "0", "/dev/null")


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["no-such-program-here"], "no-such-program-here"),
        (["/etc/passwd"], "/etc/passwd"),
        (["true", "a\0b"], "true"),
        (["true", "x" * 10_000_000], "true"),
        ([], "empty"),
    ],
)
async def test_what_cannot_be_started_is_said_by_name(argv: Sequence[str], named: str, tmp_path: Path):
    await run_process(["true"], cwd=tmp_path, env=os.environ, timeout_s=20)  # the guard's pipe stays
    descriptors = set(os.listdir("/dev/fd"))
    with pytest.raises(UsageError, match=named):
        await run_process(argv, cwd=tmp_path, env=os.environ, timeout_s=5)
    assert set(os.listdir("/dev/fd")) <= descriptors


async def test_a_missing_folder_is_told_apart_from_a_missing_program(tmp_path: Path):
    with pytest.raises(UsageError, match="folder"):
        await run_process(["true"], cwd=tmp_path / "none", env=os.environ, timeout_s=5)


async def test_nothing_is_left_open_after_many_runs(run: Run):
    await run("true")
    descriptors = len(os.listdir("/dev/fd"))
    for _ in range(10):
        await run("true")
    assert len(os.listdir("/dev/fd")) <= descriptors
    assert not has_zombies()


async def test_eight_runs_overlap(run: Run):
    started_s = time.monotonic()
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(run, "sh", "-c", "sleep 0.3; echo i")
    assert time.monotonic() - started_s < 1.2


# ------------------------------------------------------------------------------------------- the end is the child's exit


@pytest.mark.parametrize(
    "script",
    [
        "sleep 60 & echo hi",
        "sleep 60 >/dev/null & echo hi",
        "(while :; do echo x; sleep .1; done) & echo hi",
        "nohup sleep 60 >/dev/null 2>&1 & disown; echo hi",
        "nohup sleep 60 & disown; echo hi",
        "setsid sleep 60 & echo hi",
        "echo hi; yes & true",
    ],
)
async def test_a_grandchild_that_holds_the_output_delays_nothing(
    script: str, run: Run, environment: dict[str, str]
):
    result = await run("bash", "-c", f"{script}; exit 0")
    try:
        assert result.exit_code == 0
        assert "hi" in result.output
        assert result.duration_s < 2
    finally:
        end_all(environment)


def end_all(environment: Mapping[str, str]) -> None:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if environment["OSTINATO_TEST"].encode() in (folder / "environ").read_bytes():
                    os.kill(int(folder.name), 9)
            except OSError:
                continue


async def test_what_a_filter_says_just_after_the_shell_is_gone_is_heard(run: Run):
    result = await run("bash", "-c", "exec > >(sed s/a/b/); echo aa")
    assert result.output == "ba\n"


@LINUX
async def test_a_leftover_that_goes_on_writing_neither_stalls_nor_dies_of_it(
    tmp_path: Path, run: Run, environment: dict[str, str]
):
    try:
        script = "(head -c 300000 /dev/zero; echo done > proof; exec sleep 60) & echo hi"
        await run("bash", "-c", script)
        assert await wait_for_file(tmp_path / "proof") == "done"
    finally:
        end_all(environment)


@LINUX
def test_a_leftover_that_holds_our_output_ends_with_the_interpreter(
    tmp_path: Path, environment: dict[str, str]
):
    program = f"""
import anyio, os
from pathlib import Path
from ostinato.sandbox.process import run_process
async def main():
    await run_process(["sh", "-c", "setsid sleep 60 & echo hi"], cwd=Path({str(tmp_path)!r}), env=os.environ, timeout_s=9)
anyio.run(main)
"""
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=30)
    anyio.run(wait_until_gone, environment)


@LINUX
def test_a_run_still_going_at_interpreter_exit_ends_with_it(tmp_path: Path, environment: dict[str, str]):
    program = f"""
import anyio, os, sys, threading
from pathlib import Path
from ostinato.sandbox.process import run_process
shown = threading.Event()
async def main():
    await run_process(["sh", "-c", "setsid sleep 60 & echo hi; sleep 60"], cwd=Path({str(tmp_path)!r}), env=os.environ,
        timeout_s=99, on_output=lambda text: shown.set())
threading.Thread(target=anyio.run, args=(main,), daemon=True).start()
assert shown.wait(20)
"""
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=30)
    anyio.run(wait_until_gone, environment)


# ------------------------------------------------------------------------------------------------------ the tree is gone

FORK_AND_WAIT = 'python3 -c "import os,time; os.fork() or time.sleep(99)" & wait'
"""The shell ends at once; what it leaves behind holds the output."""
DAEMON = "(setsid setsid sleep 99 &) ; sleep 99"
DEAF = "trap '' TERM; (trap '' TERM; setsid sleep 98 &); while :; do sleep 1; done"


@LINUX
@pytest.mark.parametrize("script", ["sleep 99", DAEMON, DEAF])
async def test_a_timeout_ends_the_whole_tree(script: str, run: Run, environment: dict[str, str]):
    result = await run("bash", "-c", script, timeout_s=0.3)
    assert (result.exit_code, result.timed_out) == (None, True)
    assert result.duration_s < 3
    await wait_until_gone(environment)
    assert not has_zombies()


@LINUX
async def test_a_daemon_that_wiped_its_environment_ends_too(tmp_path: Path, run: Run):
    pid_file = tmp_path / "pid"
    script = "sleep 0.1; env -i setsid -f sh -c 'echo $$ > pid; exec sleep 99 >/dev/null 2>&1'; sleep 99"
    result = await run("bash", "-c", script, timeout_s=0.6)
    assert result.timed_out
    pid = await wait_for_file(pid_file)
    with anyio.fail_after(2):
        while is_alive(pid):
            await anyio.lowlevel.checkpoint()


@LINUX
async def test_what_an_exited_command_left_holding_its_output_ends_at_the_same_deadline(
    run: Run, environment: dict[str, str]
):
    result = await run("bash", "-c", FORK_AND_WAIT, timeout_s=1)
    assert (result.exit_code, result.timed_out) == (0, False)
    assert survivors(environment) != []
    await wait_until_gone(environment)


@LINUX
async def test_what_an_exited_command_left_with_its_own_output_goes_on(
    tmp_path: Path, run: Run, environment: dict[str, str]
):
    try:
        script = "sleep 97 & (read x < gate; echo on > proof; exec sleep 98) >log 2>&1 & echo hi"
        os.mkfifo(tmp_path / "gate")
        await run("bash", "-c", script, timeout_s=0.3)
        with anyio.fail_after(5):
            while any(line.startswith("sleep 97") for line in survivors(environment)):
                await anyio.lowlevel.checkpoint()
        await anyio.Path(tmp_path / "gate").write_text("go\n")
        assert await wait_for_file(tmp_path / "proof") == "on"
    finally:
        end_all(environment)


async def test_a_timeout_lets_the_command_say_goodbye(run: Run):
    result = await run(
        "bash", "-c", "trap 'echo bye; exit 0' TERM; echo hi; while :; do sleep 0.1; done", timeout_s=0.3
    )
    assert result.output.endswith("bye\n")
    assert (result.exit_code, result.timed_out) == (None, True)


@LINUX
@pytest.mark.parametrize("script", [DAEMON, DEAF])
async def test_cancellation_ends_the_whole_tree_at_once(
    script: str, tmp_path: Path, environment: dict[str, str]
):
    started = anyio.Event()

    async def run_it() -> None:
        await run_process(
            ["bash", "-c", f"echo go; {script}"],
            cwd=tmp_path,
            env=environment,
            timeout_s=60,
            on_output=lambda text: started.set(),
        )

    cancelled_s = 0.0
    async with anyio.create_task_group() as group:
        group.start_soon(run_it)
        await started.wait()
        cancelled_s = time.monotonic()
        group.cancel_scope.cancel()
    assert time.monotonic() - cancelled_s < 0.5
    await wait_until_gone(environment)
    assert not has_zombies()


@LINUX
@pytest.mark.parametrize("delay_s", [0, 0.001, 0.002, 0.004])
async def test_a_tree_killed_in_the_middle_of_its_daemonising_leaves_nobody(
    delay_s: float, tmp_path: Path, environment: dict[str, str]
):
    script = "echo go; (setsid setsid -f setsid -f sleep 99 &); for i in 1 2 3; do (setsid -f sleep 99 &); done; sleep 99"
    for _ in range(5):
        with anyio.CancelScope() as scope:

            def cancel_soon(text: str, scope: anyio.CancelScope = scope) -> None:
                scope.deadline = anyio.current_time() + delay_s

            await run_process(
                ["bash", "-c", script], cwd=tmp_path, env=environment, timeout_s=60, on_output=cancel_soon
            )
        assert scope.cancelled_caught
        await wait_until_gone(environment)


@LINUX
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_native_cancellation_twice_ends_the_tree_all_the_same(
    tmp_path: Path, environment: dict[str, str]
):
    started = anyio.Event()
    task = asyncio.ensure_future(
        run_process(
            ["bash", "-c", f"echo go; {DEAF}"],
            cwd=tmp_path,
            env=environment,
            timeout_s=60,
            on_output=lambda text: started.set(),
        )
    )
    await started.wait()
    task.cancel()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until_gone(environment)
    assert not has_zombies()


@LINUX
async def test_a_failing_listener_ends_the_tree_too(tmp_path: Path, environment: dict[str, str]):
    def fail(text: str) -> None:
        raise LookupError(text)

    with pytest.raises(LookupError):
        await run_process(
            ["bash", "-c", f"echo go; {DAEMON}"], cwd=tmp_path, env=environment, timeout_s=60, on_output=fail
        )
    await wait_until_gone(environment)


@LINUX
async def test_a_timeout_ends_its_own_run_and_no_other(tmp_path: Path, environment: dict[str, str]):
    results: list[ProcessResult] = []

    async def neighbour() -> None:
        results.append(
            await run_process(["sh", "-c", "sleep 1; echo ok"], cwd=tmp_path, env=environment, timeout_s=20)
        )

    async with anyio.create_task_group() as group:
        group.start_soon(neighbour)
        await run_process(["sleep", "99"], cwd=tmp_path, env=environment, timeout_s=0.2)
    assert results[0].output == "ok\n"


# ------------------------------------------------------------------------------------------------------ floods and text


async def test_a_flood_is_bounded_and_counted_and_leaves_the_loop_responsive(run: Run):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    worst_s = 0.0
    results: list[ProcessResult] = []

    async def beat() -> None:
        nonlocal worst_s
        while True:
            beat_s = time.monotonic()
            await anyio.sleep(0.01)
            worst_s = max(worst_s, time.monotonic() - beat_s - 0.01)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        results.append(
            await run("sh", "-c", "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo last")
        )
        group.cancel_scope.cancel()
    (result,) = results
    assert result.total_bytes == 50_000_011
    assert result.output.startswith("first\nxxx")
    assert result.output.endswith("xxxlast\n")
    assert len(result.output) <= 30_000
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 20_000
    assert worst_s < 0.2


async def test_an_endless_flood_ends_at_its_timeout(run: Run):
    result = await run("yes", timeout_s=0.5)
    assert result.timed_out
    assert result.duration_s < 3
    assert result.total_bytes > 1_000_000
    assert len(result.output) <= 30_000


async def test_broken_text_is_shown_as_such(run: Run):
    result = await run("printf", r"a\377\355\240\200\342\202\254")
    assert result.output.startswith("a\N{REPLACEMENT CHARACTER}")
    assert result.output.endswith("€")
    result.output.encode()


async def test_a_full_copy_is_kept_of_what_was_cut_and_dropped_on_abort(
    tmp_path: Path, environment: dict[str, str]
):
    spill_dir = tmp_path / "spill"
    result = await run_process(
        ["seq", "10000"],
        cwd=tmp_path,
        env=environment,
        timeout_s=20,
        max_output_bytes=500,
        spill_dir=spill_dir,
    )
    assert result.spill_path is not None
    assert len(result.spill_path.read_bytes()) == result.total_bytes

    def fail(text: str) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await run_process(
            ["seq", "10000"],
            cwd=tmp_path,
            env=environment,
            timeout_s=20,
            max_output_bytes=500,
            spill_dir=spill_dir,
            on_output=fail,
        )
    assert list(spill_dir.iterdir()) == [result.spill_path]


async def test_progress_is_shown_while_the_child_runs_and_to_its_last_word(
    tmp_path: Path, environment: dict[str, str]
):
    # The child goes on only when its first word was shown.
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        (tmp_path / "seen").touch()

    script = "echo one; while ! test -e seen; do sleep 0.01; done; echo two; echo three"
    result = await run_process(
        ["sh", "-c", script], cwd=tmp_path, env=environment, timeout_s=20, on_output=show
    )
    assert not result.timed_out
    assert "".join(shown) == "one\ntwo\nthree\n"


async def test_a_short_word_before_a_long_silence_is_shown(tmp_path: Path, environment: dict[str, str]):
    def show(text: str) -> None:
        if "two" in text:
            (tmp_path / "seen").touch()

    script = "echo one; sleep 0.01; echo two; while ! test -e seen; do sleep 0.01; done"
    result = await run_process(
        ["sh", "-c", script], cwd=tmp_path, env=environment, timeout_s=20, on_output=show
    )
    assert not result.timed_out


# ----------------------------------------------------------------------------------------------- commands that would ask


ME = "git -c user.name=a -c user.email=a@b"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("cat; echo over", "over"),
        ("read x && echo got", None),
        ('python3 -c "input()"', "EOFError"),
        ("git log && echo over", "over"),
        (f"{ME} commit --allow-empty", "editor"),
        (f"{ME} rebase -i --root", "editor"),
        ("sudo -k true", None),
        ("man ls; echo over", "over"),
        ("git clone https://user@127.0.0.1:1/x", "fatal"),
    ],
)
async def test_a_command_that_would_wait_for_a_person_ends(
    script: str, said: str | None, tmp_path: Path, run: Run
):
    """With a message and a code where it cannot do without an answer; `None`: what it says depends on the machine."""
    setup = f"git init -q; {ME} commit -q --allow-empty -m one"
    assert (await run("bash", "-c", setup)).exit_code == 0
    result = await run("bash", "-c", script, timeout_s=10)
    assert not result.timed_out
    assert result.duration_s < 3
    assert (result.exit_code == 0) is (said == "over")
    assert said is None or said in result.output

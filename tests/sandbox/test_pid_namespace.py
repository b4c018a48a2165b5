"""Process ids of a conversation's own: its commands see each other and nobody else, and nothing hides from its end.

Where namespaces are not allowed these promises cannot be tried, except the one that nothing changes there.
"""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.sandbox.test_process import has_zombies, is_alive, wait_for_file

from ostinato.errors import UsageError
from ostinato.processes import ProcessResult
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.entrance import Begin, Entrance, entrance_of
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.pid_namespace import PidNamespace
from ostinato.sandbox.process_status import lacking_right
from ostinato.sandbox.workspace import LocalWorkspace

ALLOWED = pytest.mark.skipif(bool(lacking_right()), reason="no pid namespaces for this user here")

pytestmark = pytest.mark.process

HIDES = "(ulimit -S -R unlimited; exec env -i /usr/bin/setsid -f /bin/sleep {seconds} >/dev/null 2>&1)"
"""Neither session nor parent, environment or mark lead to it."""


Outsider = tuple["subprocess.Popen[bytes]", str]


class Conversation:
    def __init__(self, folder: Path, *, is_apart: bool = True) -> None:
        self.folder = folder
        self.background = BackgroundProcesses(child_environment(os.environ), None, is_apart=is_apart)
        self.workspace = LocalWorkspace(folder, (folder,), background=self.background)

    async def does(self, command: str, timeout_s: float = 20) -> ProcessResult:
        return await self.workspace.run_shell(command, timeout_s=timeout_s)

    async def says(self, command: str) -> str:
        return (await self.does(command)).output.strip()


@pytest.fixture
async def conversation(tmp_path: Path):
    one = Conversation(tmp_path)
    yield one
    await one.background.aclose()


@pytest.fixture
def outsider() -> Iterator[Outsider]:
    """A process that is no part of any conversation, and how long it sleeps."""
    seconds = own_name()
    with subprocess.Popen(["sleep", seconds]) as process:
        yield process, seconds
        process.kill()


@pytest.fixture(scope="module")
def entrance() -> Entrance:
    """One of the tests' own, which lives as long as they do."""
    return Entrance(os.getpid(), max_namespaces=3)


def sleeping(seconds: str) -> list[int]:
    """By the outside's ids."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "cmdline").read_bytes().split(b"\0")[1:2] == [seconds.encode()]:
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


async def until_asleep(seconds: str) -> int:
    with anyio.fail_after(10):
        while not (found := sleeping(seconds)):  # ruff: ignore[async-busy-wait] - another process, looked for in /proc
            await anyio.sleep(0.005)
    return found[0]


def own_name() -> str:
    return str(20_000_000 + int.from_bytes(os.urandom(3), "big"))


def inside(namespace: str) -> list[int]:
    """By the outside's ids; process 1 of it is there too."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and namespace_of(name) == namespace:
                found.append(int(name))
    return found


def mounts_here() -> str:
    return Path("/proc/self/mountinfo").read_text()


def open_here() -> tuple[int, int]:
    """Descriptors and threads; there may only be fewer, of tests before."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def is_no_more(now: tuple[int, int], before: tuple[int, int]) -> bool:
    return now[0] <= before[0] and now[1] <= before[1]


def namespace_of(pid: int | str) -> str:
    return os.readlink(f"/proc/{pid}/ns/pid")


# ------------------------------------------------------------------------------------------------ what a command sees


@ALLOWED
async def test_an_id_that_one_command_said_is_the_same_in_the_next(conversation: Conversation):
    seconds = own_name()
    pid = await conversation.says(f"sleep {seconds} >/dev/null 2>&1 & echo $!")
    await until_asleep(seconds)
    assert await conversation.says(f"kill -0 {pid} && kill {pid} && echo killed") == "killed"
    with anyio.fail_after(5):
        while sleeping(seconds):  # ruff: ignore[async-busy-wait] - as above
            await anyio.sleep(0.005)


@ALLOWED
async def test_a_command_sees_the_processes_of_its_conversation_and_no_others(
    conversation: Conversation, outsider: Outsider
):
    assert outsider[0].poll() is None
    seconds = own_name()
    await conversation.does(f"sleep {seconds} >/dev/null 2>&1 &")
    seen = (
        await conversation.says("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; echo /proc/[0-9]*")
    ).splitlines()
    assert f"sleep {seconds}" in seen[0]
    assert outsider[1] not in seen[0]
    assert len(seen[1].split()) == 3  # process 1, what sleeps, and the shell


@ALLOWED
async def test_a_command_reaches_nobody_outside_by_name_or_id_nor_the_engine_itself(
    conversation: Conversation, outsider: Outsider
):
    process, seconds = outsider
    script = f"pkill -9 -f 'sleep {seconds}'; kill -9 {process.pid}; kill -0 {os.getpid()} && echo reached"
    assert "reached" not in await conversation.says(script)
    assert process.poll() is None


@ALLOWED
async def test_two_conversations_do_not_see_each_other(conversation: Conversation, tmp_path: Path):
    other = Conversation(tmp_path)
    seconds = own_name()
    try:
        await conversation.does(f"sleep {seconds} >/dev/null 2>&1 &")
        pid = await until_asleep(seconds)
        assert seconds not in await other.says("cat /proc/[0-9]*/cmdline")
        await other.says(f"pkill -9 -f {seconds}")
        assert is_alive(str(pid))
    finally:
        await other.background.aclose()
    assert is_alive(str(pid))


@ALLOWED
async def test_foreground_background_and_what_was_left_behind_share_one_namespace(
    conversation: Conversation, tmp_path: Path
):
    conversation.background.start("readlink /proc/self/ns/pid >b; sleep 60", folder=tmp_path, call_id="b")
    await conversation.does("(sleep 0; readlink /proc/self/ns/pid >l) >/dev/null 2>&1 &")
    here = await conversation.says("readlink /proc/self/ns/pid")
    assert await wait_for_file(tmp_path / "b") == here == await wait_for_file(tmp_path / "l")
    assert here != namespace_of("self")


@ALLOWED
async def test_our_own_programs_stay_outside(conversation: Conversation):
    await conversation.does("true")
    seen = await conversation.workspace.run(("readlink", "/proc/self/ns/pid"), timeout_s=20)
    assert seen.output.strip() == namespace_of("self")


# ------------------------------------------------------------------------------------------------ what stays as it was


@pytest.mark.parametrize("is_apart", [pytest.param(True, marks=ALLOWED), False])
async def test_folder_umask_environment_codes_and_signals_are_what_they_are_outside(
    tmp_path: Path, is_apart: bool
):
    one = Conversation(tmp_path, is_apart=is_apart)
    try:
        assert (
            await one.says("pwd -P; cd /; ls -d /dev/fd/0; cat <(echo inner)")
            == f"{tmp_path}\n/dev/fd/0\ninner"
        )
        assert [
            (await one.does(script)).exit_code for script in ("exit 3", "kill -9 $$", "kill -TERM $$")
        ] == [
            3,
            -9,
            -15,
        ]
        assert await one.says("cat") == ""
        assert await one.says("trap") == ""
        assert (await one.does("sleep 60", timeout_s=0.1)).timed_out
        before = os.umask(0o027)
        try:
            assert await one.says("umask") == "0027"
        finally:
            os.umask(before)
        with pytest.raises(UsageError):
            one.background.start("true", folder=tmp_path / "none", call_id="x")
    finally:
        await one.background.aclose()


@ALLOWED
async def test_orphans_that_end_leave_no_zombies_and_the_namespace_goes_on(conversation: Conversation):
    await conversation.does("for i in 1 2 3 4 5; do (sleep 0.0$i >/dev/null 2>&1 &); done")
    init = await conversation.says("readlink /proc/1/ns/pid")
    assert namespace_of("self") not in init  # or the signals would go to the machine's own process 1
    await conversation.does("sleep 0.2; for s in $(seq 1 64); do kill -$s 1; done 2>/dev/null; true")
    states = await conversation.says("cat /proc/[0-9]*/stat | sed 's/.*) //' | cut -c 1")
    assert "Z" not in states
    assert await conversation.says("readlink /proc/1/ns/pid") == init


@ALLOWED
async def test_no_mount_shows_outside_and_commands_have_processes_of_their_own_in_proc(
    conversation: Conversation,
):
    before, own = mounts_here(), os.getpid()
    await conversation.does("sleep 60 >/dev/null 2>&1 &")
    assert mounts_here() == before
    assert str(own) in os.listdir("/proc")
    mounted = await conversation.says("grep -c ' /proc ' /proc/self/mountinfo")
    assert int(mounted) == 1 + sum(" /proc " in line for line in before.splitlines())
    await conversation.background.aclose()
    assert mounts_here() == before


@ALLOWED
async def test_three_hundred_commands_leave_nothing_here(tmp_path: Path):
    one = Conversation(tmp_path)
    await one.does("true")
    before = open_here()
    mounts = mounts_here()
    for _ in range(300):
        await one.does(":")
    assert is_no_more(open_here(), before)
    assert len((await one.says("echo /proc/[0-9]*")).split()) == 2
    await one.background.aclose()
    assert is_no_more(open_here(), before)
    assert mounts_here() == mounts
    assert not has_zombies()


# ------------------------------------------------------------------------------------------------ the end


@ALLOWED
async def test_what_hides_from_every_mark_is_gone_with_the_conversation(tmp_path: Path):
    one, seconds = Conversation(tmp_path), own_name()
    await one.does(HIDES.format(seconds=seconds))
    pid = await until_asleep(seconds)
    await one.background.aclose()
    assert not is_alive(str(pid))


@ALLOWED
async def test_an_end_of_one_conversation_is_none_of_another(conversation: Conversation, tmp_path: Path):
    other, seconds = Conversation(tmp_path), own_name()
    await conversation.does(HIDES.format(seconds=seconds))
    pid = await until_asleep(seconds)
    await other.does("true")
    await other.background.aclose()
    assert is_alive(str(pid))
    assert seconds in await conversation.says("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")


@ALLOWED
async def test_at_the_end_everybody_gets_a_moment_to_close_files(tmp_path: Path):
    one = Conversation(tmp_path)
    await one.does(
        "(trap 'echo closed >said; exit' TERM; echo up >up; while :; do sleep 0.01; done) >/dev/null 2>&1 &"
    )
    await wait_for_file(tmp_path / "up")
    await one.background.aclose()
    assert (tmp_path / "said").read_text() == "closed\n"


# ------------------------------------------------------------------------------------------------ when it goes wrong


@ALLOWED
async def test_a_namespace_that_was_ended_by_somebody_is_replaced(conversation: Conversation):
    first = await conversation.says("readlink /proc/self/ns/pid")
    for pid in inside(first):
        os.kill(pid, signal.SIGKILL)
    with anyio.fail_after(5):
        while any(is_alive(str(pid)) for pid in inside(first)):  # ruff: ignore[async-busy-wait] - as above
            await anyio.sleep(0.005)
    second = await conversation.says("readlink /proc/self/ns/pid")
    assert second.startswith("pid:")
    assert second != namespace_of("self")


@ALLOWED
def test_a_command_that_starts_while_its_namespace_is_being_ended_never_runs_outside(entrance: Entrance):
    one, outside = PidNamespace(lambda _owner: entrance), namespace_of("self")
    command = ("readlink", "/proc/self/ns/pid")
    try:
        for _ in range(20):
            started = one.start(lambda: subprocess.Popen(command, stdout=subprocess.PIPE))
            said = started.communicate()[0].decode().strip()
            assert said != outside
            for pid in inside(said) if said else []:
                os.kill(pid, signal.SIGKILL)
    finally:
        one.end()


@ALLOWED
def test_of_many_namespaces_the_idle_ones_end_and_come_back_when_they_are_needed(entrance: Entrance):
    many = [PidNamespace(lambda _owner: entrance) for _ in range(6)]

    def run(one: PidNamespace, *argv: str) -> "subprocess.Popen[bytes]":
        return one.start(lambda: subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True))

    busy = run(many[0], "sleep", "60")
    try:
        said = [run(one, "sh", "-c", "echo $$").communicate()[0] for one in (*many, *many)]
        assert busy.poll() is None
        assert entrance.count <= 3
        assert all(int(pid) < 10 for pid in said)
    finally:
        busy.kill()
        busy.communicate()
        for one in many:
            one.end()
    assert entrance.count == 0


UNPRIVILEGED = """
import anyio, os, subprocess, sys
from pathlib import Path
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox import background_process, entrance, output_log, pid_namespace, process, start
from ostinato.sandbox.workspace import LocalWorkspace
here = Path(sys.argv[1])

async def main():
    if os.geteuid() == 0:
        os.chmod(here, 0o777)
        os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
    background = BackgroundProcesses({"PATH": "/usr/bin:/bin"}, None, is_apart=True)
    workspace = LocalWorkspace(here, (here,), {"PATH": "/usr/bin:/bin"}, background=background)
    said = await workspace.run_shell("readlink /proc/self/ns/pid; exec sleep 61 >/dev/null 2>&1 & echo $!", timeout_s=20)
    inside, pid = said.output.split()
    print(inside == os.readlink("/proc/self/ns/pid"), Path(f"/proc/{pid}").exists(), bool(entrance.entrance_of(os.getpid()).refusal))
    await background.aclose()
    try:
        print(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX")
    except FileNotFoundError:
        print(False)

anyio.run(main)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
def test_where_it_is_not_allowed_everything_is_as_it_was():
    with tempfile.TemporaryDirectory() as folder:  # one that another user can reach
        done = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, folder],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.stderr == ""
    assert done.stdout.split() == ["True", "True", "True", "False"]


@ALLOWED
def test_a_refusal_is_remembered_and_no_command_fails(entrance: Entrance):
    try:
        entrance.refusal = "a filter of calls"
        refused = PidNamespace(lambda _owner: entrance)
        started = refused.start(
            lambda: subprocess.Popen(["readlink", "/proc/self/ns/pid"], stdout=subprocess.PIPE)
        )
        assert started.communicate()[0].decode().strip() == namespace_of("self")
    finally:
        entrance.refusal = ""
    assert entrance_of(os.getpid()) is entrance_of(os.getpid())


SHARED_MOUNTS = """
import anyio, os, sys
from pathlib import Path
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.workspace import LocalWorkspace
here = Path(sys.argv[1])

async def main():
    environment = {"PATH": os.environ["PATH"]}
    background = BackgroundProcesses(environment, None, is_apart=True)
    workspace = LocalWorkspace(here, (here,), environment, background=background)
    before = Path("/proc/self/mountinfo").read_text()
    await workspace.run_shell("sleep 60 >/dev/null 2>&1 &", timeout_s=20)
    print(Path("/proc/self/mountinfo").read_text() == before, str(os.getpid()) in os.listdir("/proc"))
    await workspace.run_shell("mkdir one other; mount -t tmpfs none one && touch one/seen", timeout_s=20)
    os.system("mount -t tmpfs none other && touch other/seen")
    print((here / "one/seen").exists(), (await workspace.run_shell("ls other", timeout_s=20)).output.strip())
    await background.aclose()
    print((here / "one/seen").exists())

os.chdir(here)
anyio.run(main)
"""


@ALLOWED
def test_where_mounts_are_shared_all_are_shared_but_those_of_proc(tmp_path: Path):
    """As under systemd; the test's own mounts are out of everybody's way."""
    done = subprocess.run(
        [
            *("unshare", "--mount", "--propagation", "private", "sh", "-c"),
            'mount --make-rshared / && exec "$@"',
            *("sh", sys.executable, "-c", SHARED_MOUNTS, str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["True", "True", "True", "seen", "True"]


SINCE_THE_FIRST = """
import anyio, os, sys
from pathlib import Path
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.sandbox import background_process, output_log
here = Path(sys.argv[1])

async def main():
    environment = {"PATH": os.environ["PATH"]}
    background = BackgroundProcesses(environment, None, is_apart=True)
    workspace = LocalWorkspace(here, (here,), environment, background=background)
    async def says(command):
        done = await workspace.run_shell(command, timeout_s=20)
        return done.output.strip()
    await says("true")
    core = max(os.sched_getaffinity(0))
    os.nice(7); os.sched_setaffinity(0, {core}); os.umask(0o027)
    print(await says("nice; umask; grep Cpus_allowed_list /proc/self/status | tr -dc 0-9,-") == f"7\\n0027\\n{core}")
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
    for _ in range(2):
        print(await says("id -u; nice") == "65534\\n7")
    await background.aclose()

os.chmod(here, 0o777)
anyio.run(main)
"""


@ALLOWED
def test_what_this_process_became_since_its_first_command_holds_for_later_ones_rights_given_away_too():
    with tempfile.TemporaryDirectory() as folder:  # one that another user can reach
        done = subprocess.run(
            [sys.executable, "-c", SINCE_THE_FIRST, folder],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.stderr == ""
    assert done.stdout.split() == ["True", "True", "True"]


@ALLOWED
async def test_a_conversation_whose_only_command_could_not_be_started_leaves_no_namespace(tmp_path: Path):
    gone = tmp_path / "gone"
    gone.mkdir()
    one = Conversation(gone)
    gone.rmdir()
    before = entrance_of(os.getpid()).count
    with pytest.raises(UsageError):
        await one.does("true")
    await one.background.aclose()
    assert entrance_of(os.getpid()).count == before


FORKS = """
import os, signal, subprocess, threading
from ostinato.sandbox.entrance import Entrance
from ostinato.sandbox.pid_namespace import PidNamespace
entrance = Entrance(os.getpid())
one = PidNamespace(lambda _owner: entrance)
is_over, copies = threading.Event(), []

def forks():
    while not is_over.wait(0.0005) and len(copies) < 60:
        copy = os.fork()
        if copy == 0:
            signal.alarm(30)
            signal.pause()
        copies.append(copy)

forker = threading.Thread(target=forks)
signal.alarm(25)
try:
    forker.start()
    while forker.is_alive():
        one.start(lambda: subprocess.Popen(["true"])).wait()
    print("no start waited")
finally:
    is_over.set()
    forker.join()
    for copy in copies:
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)
    one.end()
"""


@ALLOWED
def test_a_copy_of_this_process_that_lives_on_holds_up_no_start():
    """As worker processes made by `fork` in another thread do: the system's pipes that tell of a start would stay open in them."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "no start waited"


WITHOUT = """
import os, subprocess
from ostinato.sandbox.entrance import Entrance
from ostinato.sandbox.pid_namespace import PidNamespace
entrance = Entrance(os.getpid())
print(entrance.refusal != "")
for _ in range(20):
    one = PidNamespace(lambda _owner: entrance)
    started = one.start(lambda: subprocess.Popen(["readlink", "/proc/self/ns/pid"], stdout=subprocess.PIPE))
    assert started.communicate()[0].decode().strip() == os.readlink("/proc/self/ns/pid"), started.returncode
    one.end()
"""


@ALLOWED
@pytest.mark.parametrize("program", ["mount", "env", "cat"])
def test_a_system_without_what_process_1_needs_is_one_without_namespaces(program: str, tmp_path: Path):
    """`env` is then one that lacks the option, as before coreutils 8.31 and in busybox. No command may be begun in what is about to end."""
    old = tmp_path / program
    old.write_text("#!/bin/sh\necho no such option; exit 125\n")
    old.chmod(0o755)
    done = subprocess.run(
        [
            *("unshare", "--mount", "--propagation", "private", "sh", "-c"),
            'mount --bind "$0" "$(command -v "$1")" && shift && exec "$@"',
            *(str(old), program, sys.executable, "-c", WITHOUT),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["True"]


class Stage(Entrance):
    """An entrance without namespaces, so that what follows from their beginning and end can be seen by every user."""

    def __init__(self) -> None:
        self.refusal = ""
        self.inits: list[subprocess.Popen[bytes]] = []
        self.is_entered = True

    def new_namespace(self) -> "subprocess.Popen[bytes]":
        self.inits.append(subprocess.Popen(["sleep", "60"]))
        return self.inits[-1]

    def start(self, init: "subprocess.Popen[bytes]", begin: Begin) -> "subprocess.Popen[bytes]":
        if not self.is_entered:
            raise OSError("no way in")
        return begin()

    def end(self, init: "subprocess.Popen[bytes]") -> None:
        init.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="waits through a pidfd")
def test_a_namespace_begins_with_a_first_command_serves_all_and_ends_with_the_conversation():
    stage = Stage()
    one = PidNamespace(lambda _owner: stage)
    assert stage.inits == []
    for _ in range(2):
        one.start(lambda: subprocess.Popen(["true"])).wait()
    stage.is_entered = False
    one.start(lambda: subprocess.Popen(["true"])).wait()
    one.end()
    try:
        assert [init.returncode for init in stage.inits] == [-signal.SIGKILL]
    finally:
        for init in stage.inits:
            init.kill()
            init.wait()

"""The thread that starts programs inside pid namespaces: one in a process, and used for nothing else.

Only a thread with a folder and a umask of its own can enter a mount namespace, and what a thread entered is what its children
start in. They are children of this process as any other: it knows them by ids of its own, waits for them and signals them.
"""

import contextlib
import os
import queue
import select
import subprocess
import threading
from collections.abc import Callable, Generator
from functools import cache, partial
from typing import Final, TypeVar

from ostinato.sandbox.guard import guard_of
from ostinato.sandbox.namespace_calls import (
    enter_mounts,
    enter_process_ids,
    new_mounts,
    new_process_ids,
    own_folder_and_mask,
)
from ostinato.sandbox.process_status import Standing, lacking_right, standing_now, take_on
from ostinato.sandbox.process_tree import RUN_ID_VARIABLE, nested_run_id

Result = TypeVar("Result")
Begin = Callable[[], "subprocess.Popen[bytes]"]

INIT_SCRIPT: Final = (
    "mount -t proc -o nosuid,nodev,noexec proc /proc && exec env --ignore-signal=CHLD cat /proc/self/comm -"
)
"""Process 1: `cat` waits for the end of a pipe that only this process can write to. It ignores SIGCHLD, so that the kernel keeps no
zombies for it, and has no handler: then no signal from inside ends it. First it says its name, and nobody else can say it: an `env`
that is older than that option ends with a complaint instead."""

UP: Final = b"cat\n"

INIT_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
UP_WITHIN_MS: Final = 5_000
MAX_NAMESPACES: Final = 256
"""In a process, unless something runs in more of them; each costs about 0.25 MB, half of it in the kernel."""


class Entrance:
    """Of one process. `refusal` says why there can be no namespace, "" as long as nothing speaks against it."""

    def __init__(self, owner: int, *, max_namespaces: int = MAX_NAMESPACES) -> None:
        self._owner = owner
        self._max_namespaces = max_namespaces
        self._by_use: dict[int, subprocess.Popen[bytes]] = {}
        self.refusal = lacking_right()
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._works = threading.Lock()
        self._descriptors: list[int] = []
        self._spare: list[subprocess.Popen[bytes]] = []
        if self.refusal:
            return
        try:
            self._held, self._home_mounts, self._home_ids = self._opened()
            threading.Thread(target=self._serve, daemon=True, name="ostinato-entrance").start()
            self._done(own_folder_and_mask)
            self._try()
        except (OSError, RuntimeError, ImportError) as error:
            self.refusal = str(error) or type(error).__name__

    @property
    def count(self) -> int:
        """Of the namespaces in which something was started and that have not ended."""
        return len(self._by_use)

    def new_namespace(self) -> "subprocess.Popen[bytes]":
        """Process 1 of a new namespace, with its own `/proc`. It ends with this process, and when it is killed; then the kernel kills
        everything inside. Raises OSError.
        """
        with contextlib.suppress(IndexError):
            return self._spare.pop()
        if len(self._by_use) >= self._max_namespaces:
            self._done(self._end_idle)
        read_end, write_end = os.pipe()
        try:
            init = self._done(partial(self._make, write_end))
        finally:
            os.close(write_end)
        try:
            _await_up(read_end)
        except OSError:
            init.kill()
            init.wait()
            raise
        finally:
            os.close(read_end)
        return init

    def start(self, init: "subprocess.Popen[bytes]", begin: Begin) -> "subprocess.Popen[bytes]":
        """What `begin` starts, inside. Raises OSError when it cannot be started there, also because the namespace is gone."""
        return self._done(partial(self._start, init, standing_now(), begin))

    def end(self, init: "subprocess.Popen[bytes]") -> None:
        """SIGKILL to everything inside. Whether it is gone shows in `init`, which is to be waited for."""
        self._by_use.pop(init.pid, None)
        init.kill()

    # ------------------------------------------------------------------------------------------------ in its thread

    def _serve(self) -> None:
        while True:
            job = self._jobs.get()
            with self._works:
                job()

    def _make(self, say: int) -> "subprocess.Popen[bytes]":
        outer, token = os.environ.get(RUN_ID_VARIABLE, ""), guard_of(self._owner).token
        with self._coming_home():
            new_mounts()
            new_process_ids()
            return subprocess.Popen(
                ("/bin/sh", "-c", INIT_SCRIPT),
                cwd="/",
                env={"PATH": INIT_PATH, RUN_ID_VARIABLE: nested_run_id(outer, token)},
                stdin=self._held,
                stdout=say,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _start(
        self, init: "subprocess.Popen[bytes]", standing: Standing, begin: Begin
    ) -> "subprocess.Popen[bytes]":
        take_on(standing)
        self._by_use.pop(init.pid, None)
        with contextlib.ExitStack() as opened:
            mounts, ids = (_opened(opened, f"/proc/{init.pid}/ns/{kind}") for kind in ("mnt", "pid"))
            self._by_use[init.pid] = init
            with self._coming_home():
                enter_mounts(mounts)
                enter_process_ids(ids)
                return begin()

    def _end_idle(self) -> None:
        """The namespaces that were used longest ago and in which nothing runs; whoever needs one again gets a new one."""
        for pid, init in tuple(self._by_use.items()):
            if len(self._by_use) < self._max_namespaces:
                return
            if processes_inside(pid) <= {"1"}:
                self.end(init)
                init.wait()

    def _same_root(self, init: int) -> bool:
        """In a changed root (`chroot`) entering a mount namespace would leave it."""
        outside = os.stat("/")
        with contextlib.ExitStack() as opened:
            mounts = _opened(opened, f"/proc/{init}/ns/mnt")
            with self._coming_home():
                enter_mounts(mounts)
                return os.path.samestat(outside, os.stat("/"))

    @contextlib.contextmanager
    def _coming_home(self) -> Generator[None]:
        """No namespace is held by the thread. That it could not leave is no reason to lose a child: each start enters anew."""
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                enter_mounts(self._home_mounts)
                enter_process_ids(self._home_ids)

    # ------------------------------------------------------------------------------------------------ in any other

    def _try(self) -> None:
        """The first namespace is the trial; whoever asks next gets it."""
        init = self.new_namespace()
        try:
            if not self._done(partial(self._same_root, init.pid)):
                raise OSError("this process has a changed root folder")
        except OSError:
            init.kill()
            init.wait()
            raise
        self._spare.append(init)

    def _done(self, job: Callable[[], Result]) -> Result:
        answer: queue.SimpleQueue[Result | BaseException] = queue.SimpleQueue()

        def work() -> None:
            try:
                answer.put(job())
            except BaseException as error:  # ruff: ignore[blind-except] - raised again where it is waited for
                answer.put(error)

        self._jobs.put(work)
        try:
            found = answer.get()
        except BaseException:  # an interrupt: what was started must not be lost
            found = answer.get()
            if isinstance(found, subprocess.Popen):
                found.kill()
            raise
        if isinstance(found, BaseException):
            raise found
        return found

    def _opened(self) -> tuple[int, int, int]:
        """What ends all namespaces when it is closed (its other end is each one's input), and the way back."""
        held, ends_all = os.pipe()
        self._descriptors += (held, ends_all)
        # A copy made in the middle of a start would hold the pipe whose end tells of its success: all would wait for the copy's end.
        os.register_at_fork(
            before=self._works.acquire, after_in_parent=self._works.release, after_in_child=self._let_go
        )
        home = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("mnt", "pid")]
        self._descriptors += home
        return held, home[0], home[1]

    def _let_go(self) -> None:
        """In a copy of the process (`fork` without `exec`): the original's end must be seen although the copy lives."""
        self._works.release()
        while self._descriptors:
            with contextlib.suppress(OSError):
                os.close(self._descriptors.pop())


@cache
def entrance_of(owner: int) -> Entrance:
    """The entrance of this process, whose id is `owner`; the first call finds out whether namespaces are allowed."""
    return Entrance(owner)


def _opened(stack: contextlib.ExitStack, path: str) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return descriptor


def processes_inside(init: int) -> set[str]:
    """The ids, inside, of all that is there; none if it is gone."""
    try:
        return {name for name in os.listdir(f"/proc/{init}/root/proc") if name.isdigit()}
    except OSError:
        return set()


def _await_up(pipe: int) -> None:
    """Raises OSError with what was said instead."""
    poll, said = select.poll(), b""
    poll.register(pipe, select.POLLIN)
    while UP not in said.splitlines(keepends=True):
        if not poll.poll(UP_WITHIN_MS):
            raise TimeoutError("no answer from the namespace's first process")
        chunk = os.read(pipe, 4096)
        if not chunk:
            raise OSError(said.decode("utf-8", "replace").strip() or "the namespace's first process ended")
        said += chunk

"""Running one command: bounded output, one deadline, and nothing left running on abort.

The end of a run is the exit of the child, never the end of its output: a grandchild may hold the pipe for ever.
Whatever ends a run early (timeout, cancellation of either kind, an error, interpreter exit) kills the whole tree
synchronously; `process_tree` says how it is found. Only at a timeout somebody may take the child over, alive.
"""

import atexit
import contextlib
import math
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from signal import SIGTERM
from typing import Final, Literal

import anyio
from msgspec.structs import replace

from ostinato.processes import BackgroundFacts, ProcessResult
from ostinato.sandbox.exit_watch import watch_exit
from ostinato.sandbox.output import Begun, OutputWindow, RecentText, SpillFile
from ostinato.sandbox.process_tree import ProcessTree
from ostinato.sandbox.run_group import RunGroup
from ostinato.sandbox.start import Child, start_child
from ostinato.sandbox.terminal_fold import TerminalFold

if sys.platform == "linux":
    import fcntl

TERMINATE_GRACE_S: Final = 1.0
"""Between SIGTERM and SIGKILL on a timeout."""

DRAIN_GRACE_S: Final = 0.1
"""How long to listen to what an exited child left behind (`> >(tee log)` speaks after the shell is gone)."""

REAP_S: Final = 0.5
"""How long an abort may wait for the killed child to be gone; one that is stuck in the kernel is left to a thread."""

PROGRESS_INTERVAL_S: Final = 0.05
"""`on_output` is called at most once in this time, and once at the end."""

CHUNK_BYTES: Final = 65_536
"""One read: the size of a pipe on Linux."""

WIDE_PIPE_BYTES: Final = 1024 * 1024
"""What Linux allows everybody to ask for."""

CHUNKS_A_WAKE: Final = 16
"""Reads of one pipe before other tasks get their turn."""

MAX_LEFTOVER_BYTES: Final = 256 * 1024 * 1024
"""What processes left behind by a finished command may still write before they are killed."""

TakeOver = Callable[[Child, Callable[[], Begun], float], BackgroundFacts | None]
"""Goes on with a child whose time is over, given those of its pipes that are still open, how to take over its output, and when it was
started (monotonic clock). None: it cannot, and has not touched the output."""


async def run_process(  # ruff: ignore[too-many-arguments] - each is one wish of a caller; all have names
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    max_output_bytes: int = 30_000,
    spill_dir: Path | None = None,
    separate_stderr: bool = False,
    stdin: bytes | None = None,
    on_output: Callable[[str], None] | None = None,
    group: RunGroup | None = None,
    is_apart: bool = False,
    pass_fds: Sequence[int] = (),
    folds: bool = False,
    take_over: TakeOver | None = None,
) -> ProcessResult:
    """Run `argv` (no shell) in `cwd` with `env` and this run's token, and wait for its exit.

    Standard input is empty unless `stdin` is given. `output` shows at most `max_output_bytes` of what the child wrote (with standard
    error in its place, unless `separate_stderr`: then that has a window of the same size to itself). Longer output also goes whole to a
    file in `spill_dir`, up to 256 MiB (with `separate_stderr` only standard output). `on_output` gets new text at most every 50 ms, the
    newest 4,096 characters of it. With `folds`, the output is what a terminal would show in the end, and sizes are of that. With
    `take_over`, which gets the child at `timeout_s`, it is also what that shows by then.

    `exit_code` is negative for a signal. At `timeout_s` the tree gets SIGTERM and a second later SIGKILL, on cancellation SIGKILL at once. What
    a command leaves running while it holds its output ends at the same deadline; what has its output elsewhere ends with the `group`, and
    with this process at the latest. `is_apart` runs it in the group's pid namespace, if it has one.
    Raises UsageError when the child cannot be started: no such program or folder, not executable, arguments too long.
    """
    started_s = time.monotonic()
    spill = SpillFile(spill_dir) if spill_dir is not None else None
    output = OutputWindow(max_output_bytes, spill, fold=TerminalFold() if folds else None)
    stderr = OutputWindow(max_output_bytes)
    child = start_child(
        argv,
        cwd=cwd,
        env=env,
        separate_stderr=separate_stderr,
        stdin=stdin,
        group=group,
        pass_fds=pass_fds,
        is_apart=is_apart,
    )
    run = _Run(child.process, child.tree, dict(zip(child.pipes, (output, stderr), strict=False)), on_output)
    offer = partial(_offered, take_over, run, child, output, started_s)
    end = await _to_its_end(run, output, spill, offer, until_s=started_s + timeout_s)
    code = child.process.returncode if end == "exited" else None
    result = _seen(output, stderr, spill, exit_code=code, started_s=started_s)
    return replace(result, timed_out=end == "killed", moved=end if isinstance(end, BackgroundFacts) else None)


def _offered(
    take_over: TakeOver | None, run: "_Run", child: Child, output: OutputWindow, started_s: float
) -> BackgroundFacts | None:
    return take_over and take_over(replace(child, pipes=run.open_pipes), output.handed_on, started_s)


def _seen(
    output: OutputWindow,
    stderr: OutputWindow,
    spill: SpillFile | None,
    *,
    exit_code: int | None,
    started_s: float,
) -> ProcessResult:
    return ProcessResult(
        exit_code=exit_code,
        output=output.text(),
        stderr=stderr.text(),
        total_bytes=output.total_bytes + stderr.total_bytes,
        spill_path=spill.path if spill is not None else None,
        timed_out=False,
        duration_s=time.monotonic() - started_s,
        spilled_bytes=0 if spill is None else spill.kept_bytes,
    )


async def _to_its_end(
    run: "_Run",
    output: OutputWindow,
    spill: SpillFile | None,
    offer: Callable[[], BackgroundFacts | None],
    *,
    until_s: float,
) -> Literal["exited", "killed"] | BackgroundFacts:
    """The child's own end, in time; ours; or none, if it was taken over. However this is left, nothing runs that should not."""
    is_done = is_own_end = False
    moved: BackgroundFacts | None = None
    try:
        with anyio.move_on_after(until_s - time.monotonic()):
            await run.until_exit()
            is_own_end = True
        moved = None if is_own_end else offer()
        if moved is not None:
            return moved
        await (run.drain() if is_own_end else run.terminate())
        output.end()
        run.report(is_last=True)
        is_done = True
    finally:
        if moved is not None:
            run.let_go()
        else:
            run.close(leftovers_until_s=until_s if is_done and is_own_end else None)
            if spill is not None:
                spill.close() if is_done else spill.discard()
    return "exited" if is_own_end else "killed"


class _Run:
    """One child from start to end; `windows` maps each pipe still open to where its bytes go."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        tree: ProcessTree,
        windows: dict[int, OutputWindow],
        on_output: Callable[[str], None] | None,
    ) -> None:
        self._process = process
        self._tree = tree
        self._windows = windows
        self._on_output = on_output
        self._recent = {pipe: RecentText() for pipe in windows}
        self._wide: set[int] = set()
        self._reported_s = -math.inf
        self._watch = watch_exit(process, windows)
        self._at_exit = _kill_at_exit(tree)

    @property
    def open_pipes(self) -> tuple[int, ...]:
        return tuple(self._windows)

    async def until_exit(self) -> None:
        while not self._watch.has_exited:
            await self._step(math.inf)

    async def drain(self) -> None:
        """Take what the exited child wrote; while others hold its output, listen to them a moment longer."""
        deadline_s = time.monotonic() + DRAIN_GRACE_S
        self._read(tuple(self._windows))
        while self._windows and (left_s := deadline_s - time.monotonic()) > 0:
            await self._step(left_s)

    async def terminate(self) -> None:
        """SIGTERM to all, a moment to clean up, SIGKILL to what is left; then take what they wrote."""
        self._tree.signal(SIGTERM)
        with anyio.move_on_after(TERMINATE_GRACE_S):
            await self.until_exit()
        self._tree.kill()
        self._read(tuple(self._windows))

    def report(self, *, is_last: bool = False) -> None:
        """Show new output, unless something was shown a moment ago."""
        now_s = time.monotonic()
        if self._on_output is None or (now_s < self._reported_s + PROGRESS_INTERVAL_S and not is_last):
            return
        for recent in self._recent.values():
            if text := recent.take():
                self._reported_s = now_s
                self._on_output(text)

    def close(self, *, leftovers_until_s: float | None) -> None:
        """Synchronous, for `finally`: kill (unless leftovers may go on), reap, and let go of every descriptor."""
        if leftovers_until_s is None:
            self._tree.kill()
        _reap(self._process)
        atexit.unregister(self._at_exit)
        self._watch.close()
        if leftovers_until_s is not None and self._windows:
            _look_after(tuple(self._windows), self._tree, leftovers_until_s)
        else:
            _close(self._windows)

    def let_go(self) -> None:
        """Somebody else looks after the child and its pipes."""
        atexit.unregister(self._at_exit)
        self._watch.close()

    async def _step(self, up_to_s: float) -> None:
        is_text_waiting = any(recent.has_text for recent in self._recent.values())
        self._read(await self._watch.wait(min(up_to_s, PROGRESS_INTERVAL_S) if is_text_waiting else up_to_s))
        self.report()

    def _widen(self, pipe: int) -> None:
        """A flood: a larger pipe means fewer wakes. Refused to a user who has too many of them."""
        if pipe in self._wide or sys.platform != "linux":
            return
        self._wide.add(pipe)
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, WIDE_PIPE_BYTES)

    def _read(self, pipes: Iterable[int]) -> None:
        for pipe in pipes:
            for _ in range(CHUNKS_A_WAKE):
                try:
                    chunk = os.read(pipe, CHUNK_BYTES)
                except BlockingIOError:
                    break
                if not chunk:
                    self._watch.forget(pipe)
                    os.close(pipe)
                    del self._windows[pipe]
                    break
                self._windows[pipe].feed(chunk)
                if self._on_output is not None:
                    self._recent[pipe].feed(chunk)
                if len(chunk) == CHUNK_BYTES:
                    self._widen(pipe)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Leave no zombie; a child that does not die at once is waited for elsewhere."""
    try:
        process.wait(timeout=REAP_S)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, daemon=True).start()


def _look_after(pipes: tuple[int, ...], tree: ProcessTree, until_s: float) -> None:
    """Leave the leftovers of an exited child to a thread of their own; at interpreter exit they end too."""
    leftovers = replace(tree, leader=0, pipes=frozenset(os.fstat(pipe).st_ino for pipe in pipes))
    arguments = (pipes, leftovers, until_s, _kill_at_exit(leftovers))
    threading.Thread(target=_discard_output, args=arguments, daemon=True, name="ostinato-leftovers").start()


def _discard_output(
    pipes: tuple[int, ...], leftovers: ProcessTree, until_s: float, at_exit: Callable[[], None]
) -> None:
    """Read what they write, so that they do not stall, until they are gone, too loud or out of time."""
    still_open, left = set(pipes), MAX_LEFTOVER_BYTES
    poll = select.poll()
    for pipe in pipes:
        poll.register(pipe, select.POLLIN)
    while still_open and left > 0 and (left_s := until_s - time.monotonic()) > 0:
        # A day at a time: the system's limit is 24 of them.
        for pipe, _ in poll.poll(min(left_s, 86_400) * 1000):
            chunk = os.read(pipe, CHUNK_BYTES)
            left -= len(chunk)
            if not chunk:
                poll.unregister(pipe)
                still_open.remove(pipe)
    if still_open:
        leftovers.kill()
    _close(pipes)
    atexit.unregister(at_exit)


def _kill_at_exit(tree: ProcessTree) -> Callable[[], None]:
    """Registers the killing of `tree` at interpreter exit; returns what to unregister."""
    kill = partial(_kill_if_owner, tree, os.getpid())
    atexit.register(kill)
    return kill


def _kill_if_owner(tree: ProcessTree, owner: int) -> None:
    # A host may fork without exec; the copy's exit must not end the original's children.
    if os.getpid() == owner:
        tree.kill()


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)

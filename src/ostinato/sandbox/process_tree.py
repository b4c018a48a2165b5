"""Everything a child process started, found again and killed, also after `setsid` and a double fork.

Members are known by marks that a fork inherits: a resource limit nobody uses, set to a number of this run's own
(it survives `env -i` and daemons that overwrite their environment), a token in the environment, the session, and
descent. A tree may be that of one run, of all runs of a conversation, or of a whole process (its family). No process is signalled that was not found to be a member after its pid was pinned by a pidfd.
"""

import contextlib
import os
import re
import sys
from signal import SIGKILL, Signals
from typing import Final

import msgspec

if sys.platform == "linux":
    import resource
    from signal import pidfd_send_signal

RUN_ID_VARIABLE: Final = "OSTINATO_RUN_ID"
"""Holds this run's token, after those of the runs it is nested in, separated by colons."""

READ_BYTES: Final = 65_536

FAMILY_BITS: Final = 30
RUN_BITS: Final = 31
MARK_BIT: Final = 1 << (FAMILY_BITS + RUN_BITS + 1)
"""A mark is this bit, the family of the process that started the run, and the run's own number."""

LIMIT_LINE: Final = re.compile(rb"^Max realtime timeout +(\d+) ", re.MULTILINE)

KERNEL_THREAD: Final = 0x200000
"""`PF_KTHREAD` of a process's flags. By parentage it cannot be told: the first of these threads has none."""

MAX_ROUNDS: Final = 100
"""Searches before giving up on a tree that forks faster than it can be killed."""


class _Entry(msgspec.Struct, frozen=True):
    """One line of the process table: `started` in clock ticks since boot."""

    pid: int
    parent: int
    session: int
    started: int
    is_dead: bool
    is_kernel_thread: bool


class _Search(msgspec.Struct, frozen=True):
    """What one look at the process table found.

    `dead` are zombies, members or not (most marks cannot be read any more); `unclear` are pids it could not judge.
    """

    members: tuple[_Entry, ...]
    dead: frozenset[int]
    unclear: frozenset[int]

    @property
    def living(self) -> bool:
        return any(not entry.is_dead for entry in self.members)


class ProcessTree(msgspec.Struct, frozen=True):
    """The processes of one run or several; `leader` is 0 once the leader was reaped and its pid may be someone else's.

    `started` is the first one's start in clock ticks since boot: nothing older can be a member, which makes the search
    cheap. `marks` is empty where the limit could not be set; a `family` stands for all marks with that number in them. With
    `pipes` (inode numbers) only members that have one of them open count.
    """

    leader: int
    token: str
    marks: frozenset[int] = frozenset()
    started: int = 0
    pipes: frozenset[int] = frozenset()
    family: int = 0

    def signal(self, number: Signals) -> None:
        """Send one signal to each member there is now."""
        self._signal_all(self.search(), number)

    def kill(self) -> None:
        """SIGKILL every member, synchronously; returns when a search proves that there is no other.

        A process with SIGKILL pending cannot fork. One that goes by itself may have forked just before, unseen by this
        search: so a search proves nothing if it met a member or a zombie for the first time, or anything that vanished
        meanwhile or was in `exec`. Then it is repeated.
        """
        settled: set[int] = set()
        for _ in range(MAX_ROUNDS):
            search = self.search()
            found = {entry.pid for entry in search.members} | search.dead
            if found | search.unclear <= settled:
                return
            self._signal_all(search, SIGKILL)
            settled |= found

    def search(self) -> _Search:
        """The members, dead ones not yet reaped included, without this process. None where there is no `/proc`."""
        entries = {pid: _read_entry(pid) for pid in _process_ids()}
        table = [entry for entry in entries.values() if entry is not None and self._is_young(entry)]
        belongs = {entry.pid: self._belongs(entry) for entry in table}
        found = {pid for pid, is_member in belongs.items() if is_member}
        if self.leader:
            found.add(self.leader)
        size = -1
        while size != len(found):
            size = len(found)
            found |= {entry.pid for entry in table if entry.parent in found}
        unread = {pid for pid, entry in entries.items() if entry is None}
        return _Search(
            members=tuple(entry for entry in table if entry.pid in found and self._counts(entry)),
            dead=frozenset(entry.pid for entry in table if entry.is_dead),
            unclear=frozenset(unread | {pid for pid, answer in belongs.items() if answer is None}),
        )

    def _is_young(self, entry: _Entry) -> bool:
        return entry.started >= self.started and entry.pid != os.getpid()

    def _counts(self, entry: _Entry) -> bool:
        return not self.pipes or _holds(entry.pid, self.pipes)

    def _signal_all(self, search: _Search, number: Signals) -> None:
        if self.leader:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.leader, number)
        for entry in search.members:
            if not entry.is_dead:
                _signal_one(entry, number)

    def _belongs(self, entry: _Entry) -> bool | None:
        """Whether a process bears this run's marks; None if that cannot be told because it went away or is in `exec`."""
        if self.leader and entry.session == self.leader:
            return True
        limits = _read_proc(entry.pid, "limits")
        mark = _mark_in(limits)
        if mark in self.marks:
            return True
        environment = _read_proc(entry.pid, "environ")
        if not environment and not _has_no_program(entry):
            # In the middle of `exec` the new program has neither environment nor arguments yet.
            if not _read_proc(entry.pid, "cmdline"):
                return None
            environment = _read_proc(entry.pid, "environ")
        if self.token.encode() in environment:
            return True
        # A family is a short number: what says by its environment whose it is, is believed.
        if self.family and mark and RUN_ID_VARIABLE.encode() not in environment:
            return (mark ^ MARK_BIT) >> RUN_BITS == self.family
        return False if limits else None


def adopt(leader: int, token: str, family: int) -> ProcessTree:
    """The tree of a child that was just started with `token` (hexadecimal, 32 digits) in its environment."""
    # first: what the child forks before this has only the token
    marks = _set_mark(leader, MARK_BIT | family << RUN_BITS | int(token, 16) & ((1 << RUN_BITS) - 1))
    entry = _read_entry(leader)
    return ProcessTree(leader, token, marks, entry.started if entry else 0)


def family_of(token: str) -> int:
    """The number in the marks of everything that the process with this token starts; never 0."""
    return int(token, 16) & ((1 << FAMILY_BITS) - 1) or 1


def nested_run_id(*tokens: str) -> str:
    """The value of `OSTINATO_RUN_ID` for a run inside others, the outermost first; empty ones are none."""
    return ":".join(filter(None, tokens))


def _set_mark(pid: int, mark: int) -> frozenset[int]:
    """Give `pid` a real-time limit of at least 146,000 years, its exact value unique to this run; nothing if refused.

    The limit acts only on real-time scheduled processes, so this one changes nothing for anybody.
    """
    if sys.platform != "linux":
        return frozenset()
    try:
        resource.prlimit(pid, resource.RLIMIT_RTTIME, (mark, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        return frozenset()
    return frozenset({mark})


def _mark_in(limits: bytes) -> int:
    """The mark among a process's limits, 0 if it bears none."""
    line = LIMIT_LINE.search(limits)
    limit = 0 if line is None else int(line[1])
    return limit if limit & MARK_BIT else 0


def _signal_one(entry: _Entry, number: Signals) -> None:
    if sys.platform != "linux":
        return
    try:
        pinned = os.pidfd_open(entry.pid)
    except OSError:
        return
    try:
        now = _read_entry(entry.pid)
        if now is not None and now.started == entry.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                pidfd_send_signal(pinned, number)
    finally:
        os.close(pinned)


def _process_ids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _holds(pid: int, pipes: frozenset[int]) -> bool:
    names = {f"pipe:[{inode}]" for inode in pipes}
    try:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{descriptor}") in names:
                    return True
    except OSError:
        return False
    return False


def _read_entry(pid: int) -> _Entry | None:
    # The second field is the program's name in brackets and may hold anything, brackets and spaces included.
    fields = _read_proc(pid, "stat").rpartition(b")")[2].split()
    if len(fields) < 20:
        return None
    return _Entry(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        started=int(fields[19]),
        is_dead=fields[0] in {b"Z", b"X"},
        is_kernel_thread=bool(int(fields[6]) & KERNEL_THREAD),
    )


def _has_no_program(entry: _Entry) -> bool:
    return entry.is_dead or entry.is_kernel_thread


def _read_proc(pid: int, name: str) -> bytes:
    """A file of `/proc`, empty if the process is gone or not ours; without a file object, which costs ten reads."""
    chunks: list[bytes] = []
    try:
        descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        while chunk := os.read(descriptor, READ_BYTES):
            chunks.append(chunk)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return b"".join(chunks)

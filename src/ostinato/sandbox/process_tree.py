"""Everything a child process started, found again and killed, also after `setsid` and a double fork.

Members are known by marks that a fork inherits: a resource limit nobody uses, set to a number of this run's own
(it survives `env -i` and daemons that overwrite their environment), a token in the environment, the session, and
descent. No process is signalled that was not found to be a member after its pid was pinned by a pidfd.
"""

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, Signals, pidfd_send_signal
from typing import Final

if sys.platform == "linux":
    import resource

RUN_ID_VARIABLE: Final = "OSTINATO_RUN_ID"
"""Holds this run's token, after those of the runs it is nested in, separated by colons."""

MAX_ROUNDS: Final = 100
"""Searches before giving up on a tree that forks faster than it can be killed."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of the process table: `started` in clock ticks since boot."""

    pid: int
    parent: int
    session: int
    started: int
    is_dead: bool


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """The processes of one run; `leader` is 0 once the leader was reaped and its pid may be someone else's.

    `started` is the leader's start in clock ticks since boot: nothing older can be a member, which makes the search
    cheap. `mark` is 0 where the limit could not be set.
    """

    leader: int
    token: str
    mark: int
    started: int

    def signal(self, number: Signals) -> frozenset[tuple[int, int]]:
        """Send one signal to each member there is now; returns the members as (pid, start)."""
        if self.leader:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.leader, number)
        members = self.members()
        for entry in members:
            self._signal_one(entry, number)
        return frozenset((entry.pid, entry.started) for entry in members)

    def kill(self) -> None:
        """SIGKILL every member, synchronously; returns when a search finds none that has not got the signal.

        A process with SIGKILL pending cannot fork, so such a search proves that the tree ends.
        """
        killed: frozenset[tuple[int, int]] = frozenset()
        for _ in range(MAX_ROUNDS):
            members = self.signal(SIGKILL)
            if members <= killed:
                return
            killed |= members

    def members(self) -> tuple[_Entry, ...]:
        """Live members, without this process itself. Empty where there is no `/proc`."""
        table = [
            entry for entry in _process_table() if entry.started >= self.started and entry.pid != os.getpid()
        ]
        found = {entry.pid for entry in table if self._is_marked(entry)}
        if self.leader:
            found.add(self.leader)
        size = -1
        while size != len(found):
            size = len(found)
            found |= {entry.pid for entry in table if entry.parent in found}
        return tuple(entry for entry in table if entry.pid in found and not entry.is_dead)

    def _is_marked(self, entry: _Entry) -> bool:
        if self.leader and entry.session == self.leader:
            return True
        if self.mark and str(self.mark).encode() in _read_proc(entry.pid, "limits"):
            return True
        return self.token.encode() in _read_proc(entry.pid, "environ")

    def _signal_one(self, entry: _Entry, number: Signals) -> None:
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


def adopt(leader: int, token: str) -> ProcessTree:
    """The tree of a child that was just started with `token` (hexadecimal, 32 digits) in its environment."""
    mark = _set_mark(leader, token)  # first: what the child forks before this has only the token
    entry = _read_entry(leader)
    return ProcessTree(leader, token, mark, entry.started if entry else 0)


def nested_run_id(outer: str, token: str) -> str:
    """The value of `OSTINATO_RUN_ID` for a run inside the run `outer` (empty if there is none)."""
    return f"{outer}:{token}" if outer else token


def _set_mark(pid: int, token: str) -> int:
    """Give `pid` a real-time limit of at least 146,000 years, its exact value unique to this run; 0 if refused.

    The limit acts only on real-time scheduled processes, so this one changes nothing for anybody.
    """
    if sys.platform != "linux":
        return 0
    mark = (1 << 62) | (int(token, 16) & ((1 << 61) - 1))
    try:
        resource.prlimit(pid, resource.RLIMIT_RTTIME, (mark, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        return 0
    return mark


def _process_table() -> list[_Entry]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    entries = (_read_entry(int(name)) for name in names if name.isdigit())
    return [entry for entry in entries if entry is not None]


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
    )


def _read_proc(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""

"""The process ids of one conversation: its commands see each other and nobody else, and end together, whatever they did to hide.

Made for the first command, where that is allowed. Where it is not, or not any more, commands start as they always did: no
command fails for the lack of a namespace.
"""

import contextlib
import os
import select
import subprocess
import threading
from collections.abc import Callable
from typing import Final

from ostinato.sandbox.entrance import Begin, Entrance, entrance_of, processes_inside

GONE_WITHIN_MS: Final = 500
"""How long an end may wait for the last one; the kernel ends process 1 only after all others are reaped, some of them by us."""


class PidNamespace:
    """Mutable on purpose: there is none before the first command. Not for use from several threads."""

    def __init__(self, find_entrance: Callable[[int], Entrance] = entrance_of) -> None:
        self._find_entrance = find_entrance
        self._init: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def start(self, begin: Begin) -> "subprocess.Popen[bytes]":
        """What `begin` starts: inside where it can be. Raises what `begin` raises."""
        entrance = self._find_entrance(os.getpid())
        for _ in range(2):
            init = self._living(entrance)
            if init is None:
                break
            try:
                return entrance.start(init, begin)
            except OSError:
                if processes_inside(init.pid):
                    break  # a folder that is mounted only outside, or a start that fails there too and says why
                self.end()  # somebody ended it
        return begin()

    def end(self) -> None:
        """SIGKILL to everything inside, synchronously."""
        init, self._init = self._init, None
        if init is None or self._owner != os.getpid():
            return
        try:
            self._find_entrance(self._owner).end(init)
            is_gone = _ends(init.pid)
        except PermissionError:  # this process gave its rights away since: then it ends with this process
            is_gone = False
        if not is_gone:
            threading.Thread(target=init.wait, daemon=True, name="ostinato-namespace-end").start()
            return
        init.wait()

    def _living(self, entrance: Entrance) -> "subprocess.Popen[bytes] | None":
        """Process 1; a new one if there is none that lives, None if there can be none."""
        if entrance.refusal:
            return None
        if self._init is None or self._owner != os.getpid() or self._init.poll() is not None:
            self._init, self._owner = None, os.getpid()
            with contextlib.suppress(OSError):
                self._init = entrance.new_namespace()
        return self._init


def _ends(pid: int) -> bool:
    """Whether it ends soon; it is not reaped."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(GONE_WITHIN_MS))
    finally:
        os.close(descriptor)

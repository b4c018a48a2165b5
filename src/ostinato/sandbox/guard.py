"""What ends our processes when we cannot any more: a sleeping shell that outlives this process, however that goes.

It waits for one word on a pipe that only this process holds. The word is `done` after an orderly end; end of file
without it (SIGKILL, a crash, `os._exit`) makes it search for everything that was started here, and kill it.
"""

import atexit
import contextlib
import os
import subprocess
import sys
import uuid
from functools import cache
from typing import Final

from ostinato.sandbox.process_tree import ProcessTree, family_of

SCRIPT: Final = (
    "exec 3<&0 </dev/null; { trap '' HUP INT QUIT TERM; IFS= read -r word <&3; "
    '[ "$word" = done ] || exec "$@"; } >/dev/null 2>&1 &'
)
"""In the background of a shell that ends at once: so the guard is nobody's child here, and nobody here waits for it."""

PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from ostinato.sandbox.guard import end_all; end_all(sys.argv[1], int(sys.argv[2]))"
)


class Guard:
    """Of one process; `token` and `family` are borne by everything that is started in it.

    `expect` says that there may be something to end; a `settle` with the same name takes it back.
    """

    def __init__(self, owner: int) -> None:
        self.token = uuid.uuid4().hex
        self.family = family_of(self.token)
        self._owner = owner
        self._expected: set[str] = set()
        self._pipe = _start_guard(owner, self.token, self.family)
        atexit.register(self._at_exit)
        os.register_at_fork(after_in_child=self._let_go)

    def expect(self, name: str) -> None:
        self._expected.add(name)

    def settle(self, name: str) -> None:
        """A search has proved that nothing of that name is left."""
        self._expected.discard(name)

    def _at_exit(self) -> None:
        # A host may fork without exec; the copy's exit must not end the original's children.
        if os.getpid() != self._owner:
            return
        if self._expected:
            end_all(self.token, self.family)
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                os.write(self._pipe, b"done\n")

    def _let_go(self) -> None:
        """In a copy: the original's end must be seen although the copy lives."""
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            with contextlib.suppress(OSError):
                os.close(pipe)


@cache
def guard_of(owner: int) -> Guard:
    """The guard of this process, whose id is `owner`; the first call starts it."""
    return Guard(owner)


def end_all(token: str, family: int) -> None:
    """Kill every process that bears the token or, having wiped its environment, the mark of the family."""
    ProcessTree(leader=0, token=token, family=family).kill()


def _start_guard(owner: int, token: str, family: int) -> int | None:
    """The end of the pipe that is held here; None where there is no shell, or no Python to search with."""
    if not sys.executable or getattr(sys, "frozen", False) or not os.path.isdir("/proc/self"):
        return None
    killer = (sys.executable, "-I", "-c", PROGRAM, token, str(family), *filter(None, map(str, sys.path)))
    read_end, write_end = os.pipe()
    try:
        subprocess.run(
            ("/bin/sh", "-c", SCRIPT, f"ostinato-guard-of-{owner}", *killer),
            stdin=read_end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        os.close(write_end)
        return None
    finally:
        os.close(read_end)
    return write_end

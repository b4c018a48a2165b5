"""The installed command on a controlling terminal of its own: what it shows, what is typed, and how it leaves the terminal."""

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from types import TracebackType
from typing import Any, Final, Self

from tests.cli.command import COMMAND, TIMEOUT_S, Desk
from tests.cli.terminal_screen import TerminalScreen

_TAKE_TERMINAL: Final = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
_COST: Final = re.compile(r"\((?:[\d,]+ tokens in, [^\n]*)?\d+\.\d s\b")
STOPPED: Final = "stopped with the terminal restored: "
_SHELL: Final = f"""
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
before = termios.tcgetattr(0)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while os.WIFSTOPPED(status := os.waitpid(job, os.WUNTRACED)[1]):
    is_restored = termios.tcgetattr(0) == before
    os.killpg(job, signal.SIGCONT)  # which would forget a stop that came before it: so it is told only afterwards
    print(f"{STOPPED}{{is_restored}}", flush=True)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""The least of a shell with job control: it says how a stopped job left the terminal, and continues it at once."""


class PseudoTerminal:
    """`with PseudoTerminal(desk, "--flag") as terminal:` starts the command; it is killed if the block leaves it running.

    `has_shell` puts a small shell with job control in between. Every byte goes through a `TerminalScreen`, which raises
    Unexpected for a sequence that is not ours.
    """

    def __init__(
        self,
        desk: Desk,
        *arguments: str,
        has_shell: bool = False,
        columns: int = 160,
        rows: int = 50,
        term: str = "xterm-256color",
        **environment: str,
    ) -> None:
        self._own_side, self._its_side = pty.openpty()
        fcntl.ioctl(self._its_side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen = TerminalScreen(columns, rows)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.modes_before = self.modes
        self.raw = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SHELL if has_shell else _TAKE_TERMINAL, COMMAND, *arguments],
            cwd=desk.work,
            env=desk.environment(TERM=term, **environment),
            stdin=self._its_side,
            stdout=self._its_side,
            stderr=self._its_side,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for side in (self._own_side, self._its_side):
            with contextlib.suppress(OSError):  # hung up already
                os.close(side)

    @property
    def modes(self) -> list[Any]:
        return termios.tcgetattr(self._its_side)

    @property
    def text(self) -> str:
        """What can be seen, and what scrolled off."""
        return self.screen.text

    def hang_up(self) -> int:
        """Take the terminal away; the exit code of the command."""
        os.close(self._its_side)
        os.close(self._own_side)
        return self.process.wait(TIMEOUT_S)

    def type(self, text: str) -> None:
        os.write(self._own_side, text.encode())

    def sees(self, text: str, times: int = 1) -> None:
        """Wait until the text was written that often."""
        self._until(lambda: self.text.count(text) >= times, f"{text!r}, {times} times")

    def prompted(self, queries: int = 0) -> None:
        """Wait for an idle prompt after so many queries have ended."""
        self._until(lambda: self._ended >= queries and self.is_idle, f"a prompt after {queries} queries")

    @property
    def is_idle(self) -> bool:
        """Whether the prompt waits and nothing works."""
        is_working = any(f"\n{doing}, " in self.screen.bottom for doing in ("working", "summarising"))
        return self.screen.cursor_line.startswith((">", "  ")) and not is_working

    @property
    def _ended(self) -> int:
        return len(_COST.findall(self.text))

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(columns, rows)
        fcntl.ioctl(self._own_side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def left_nothing(self) -> bool:
        """Whether the terminal is as it was: modes of the line, cursor, wrapping, pastes."""
        on = {name for name, is_on in self.screen.modes.items() if is_on}
        return self.modes == self.modes_before and {"7", "25"} <= on and "2004" not in on

    def until(self, condition: Any) -> None:
        self._until(condition, "a condition")

    def ended(self) -> int:
        """Wait for the end of the command; its exit code."""
        self._until(lambda: self.process.poll() is not None, "the end of the command")
        self._take()
        return self.process.wait()

    def _until(self, condition: Any, what: str) -> None:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not condition():
            if time.monotonic() > deadline_s:
                raise AssertionError(f"waited in vain for {what}; the screen holds:\n{self.text}")
            self._take(wait_s=0.02)

    def _take(self, wait_s: float = 0.0) -> None:
        while select.select([self._own_side], [], [], wait_s)[0]:
            piece = self._decoder.decode(os.read(self._own_side, 65_536))
            self.raw += piece
            self.screen.feed(piece)
            wait_s = 0.0

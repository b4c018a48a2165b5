"""Signals outside of the event loop: before the work begins, and after it is done."""

import signal
from typing import NoReturn

from ostinato.cli.exit_codes import TERMINATED


def hear_early() -> None:
    """Before there is an event loop, SIGTERM and SIGHUP end the program by its own exit, as SIGINT does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)


def _leave(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(TERMINATED)


def ignore_late() -> None:
    """The work is done and its exit code stands: an impatient signal must not make a trace or another code of the
    interpreter's own end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

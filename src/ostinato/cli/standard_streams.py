"""Descriptors 0, 1 and 2 as a program finds them: perhaps closed, perhaps in another encoding, perhaps with nobody at the
other end. After `prepare` all three exist, and text goes out as UTF-8 whatever the locale says.
"""

import contextlib
import io
import os
import select
import sys
from typing import Final, TextIO, cast

_PIECE_BYTES: Final = 4_096
"""What a pipe that is ready takes without blocking (PIPE_BUF)."""

_PATIENCE_MS: Final = 1_000
"""How long talk may wait for a reader; then it is dropped, for nobody may hang on what is only talk."""


def prepare() -> None:
    """Put /dev/null where a standard descriptor is closed, so that no file of ours gets its number; set UTF-8."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            _open_null(descriptor)
    sys.stdout = sys.stdout or _opened(os.devnull)
    sys.stderr = sys.stderr or _opened(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            cast("io.TextIOWrapper[io.BufferedWriter]", stream).reconfigure(
                encoding="utf-8", errors="replace"
            )


def _open_null(descriptor: int) -> None:
    # Standard output takes nothing then: an answer must not be lost without a word (`Output` looks).
    opened = os.open(os.devnull, os.O_RDONLY if descriptor == 1 else os.O_RDWR)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)


def _opened(descriptor: int | str) -> TextIO:
    return open(descriptor, "w", encoding="utf-8", errors="replace", closefd=isinstance(descriptor, str))


def talk(text: str) -> None:
    """Write to standard error; never raises, never waits long."""
    _drained(2, text.encode("utf-8", "replace"))


def say(text: str) -> None:
    """Write data to standard output outside of a run (a version, a path); nobody listening is no error."""
    _drained(1, text.encode("utf-8", "replace"))


def _drained(descriptor: int, data: bytes) -> None:
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    with contextlib.suppress(OSError):
        while data and ready.poll(_PATIENCE_MS):
            data = data[os.write(descriptor, data[:_PIECE_BYTES]) :]


def forget_output() -> None:
    """Nobody reads standard output any more: what Python still holds of it goes nowhere, without a word at its end."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def is_terminal(descriptor: int) -> bool:
    return os.isatty(descriptor)

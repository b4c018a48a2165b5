"""The prompt: from the command line, from standard input, or from both; a pipe that never closes does not hold it up.

With a prompt on the command line, standard input has `first_byte_s` to say its first byte; once it spoke it may be silent for
`silence_s` at a time, then what came is taken for all. Without one it is read to its end, since there is nothing else to do.
Whoever waits on a terminal is told. At most `MAX_INPUT_BYTES` are taken.
"""

import os
import select
import stat
from collections.abc import Callable
from typing import Final

import msgspec

from ostinato.errors import UsageError


class Patience(msgspec.Struct, frozen=True):
    """With standard input. `first_byte_s`: long enough for a program that starts on the other side of a pipe, short enough to wait
    for nobody. `silence_s`: a build or a test run says nothing for long, and its end is what matters; a pipe that was forgotten
    open must still not hold a run up for ever. After `told_s` of silence a person hears what is waited for.
    """

    first_byte_s: float = 3.0
    silence_s: float = 60.0
    told_s: float = 3.0


PATIENCE: Final = Patience()

MAX_INPUT_BYTES: Final = 40_000_000
"""Ten million characters, the most that a prompt may have, in the longest UTF-8."""

_CHUNK_BYTES: Final = 1 << 20
_HINT: Final = 'say what should be done: `ostinato -p "…"`, or pipe it in'


def read_prompt(
    argument: str | None,
    talk: Callable[[str], None],
    *,
    descriptor: int = 0,
    patience: Patience = PATIENCE,
    is_watched: bool = False,
) -> str:
    """The argument, then what standard input holds. `is_watched`: a person sees what `talk` says, and is told of a long wait.

    Raises UsageError if there is nothing, or far too much.
    """
    said = "" if argument is None else legal_text(argument)
    reader = _PipeReader(descriptor, talk if is_watched else _unheard, patience)
    piped = _piped(reader, talk, has_argument=argument is not None)
    prompt = "\n\n".join(part for part in (said, piped) if part.strip())
    if not prompt:
        raise UsageError("the prompt is empty", hint=_HINT)
    return prompt


def legal_text(argument: str) -> str:
    """An argument as the user typed it, in UTF-8 whatever the locale claims."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _piped(reader: "_PipeReader", talk: Callable[[str], None], *, has_argument: bool) -> str:
    """What comes in, without the line ends at its end; empty for a terminal, a closed descriptor and silence."""
    if not reader.may_hold_something():
        return ""
    if not has_argument:
        data = reader.to_the_end("the prompt is awaited on standard input, to its end")
    elif reader.speaks_at_once():
        data = reader.until_silence()
    else:
        data = b""
    if reader.was_silent:
        talk(reader.gave_up())
    return data.decode("utf-8", "replace").rstrip("\r\n")


def _unheard(_text: str) -> None:
    pass


class _PipeReader:
    """Standard input, read once."""

    def __init__(self, descriptor: int, tell_waiting: Callable[[str], None], patience: Patience) -> None:
        self._descriptor = descriptor
        self._tell_waiting = tell_waiting
        self._patience = patience
        self._parts: list[bytes] = []
        self._total_bytes = 0
        self.was_silent = False

    def may_hold_something(self) -> bool:
        try:
            mode = os.fstat(self._descriptor).st_mode
        except OSError:
            return False
        return not (os.isatty(self._descriptor) or stat.S_ISDIR(mode))

    def speaks_at_once(self) -> bool:
        self.was_silent = not self._speaks(self._patience.first_byte_s)
        return not self.was_silent

    def to_the_end(self, awaited: str) -> bytes:
        """However long it takes."""
        while self._speaks_within(None, awaited) and self._reads():
            pass
        return b"".join(self._parts)

    def until_silence(self) -> bytes:
        limit_s = self._patience.silence_s
        awaited = f"the end of standard input is awaited; after {limit_s:g} s of silence what came is all"
        while not self.was_silent:
            if not self._speaks_within(limit_s, awaited):
                self.was_silent = True
            elif not self._reads():
                break
        return b"".join(self._parts)

    def gave_up(self) -> str:
        """What silence led to, and what to do about it."""
        if not self._parts:
            return (
                f"note: nothing came on standard input within {self._patience.first_byte_s:g} s, so it is not waited for; "
                "`< /dev/null` says that there is nothing\n"
            )
        return (
            f"note: standard input was silent for {self._patience.silence_s:g} s without ending, so the {self._total_bytes:,} bytes "
            "that came are taken for all; put longer work into a file first\n"
        )

    def _speaks_within(self, limit_s: float | None, awaited: str) -> bool:
        """Whether data or an end comes in time; None: however long. Somebody who watches is told once, after a while."""
        told_s = self._patience.told_s
        if limit_s is not None and limit_s <= told_s:
            return self._speaks(limit_s)
        if self._speaks(told_s):
            return True
        self._tell_waiting(f"note: {awaited}; Ctrl-C ends it\n")
        self._tell_waiting = _unheard
        return self._speaks(None if limit_s is None else limit_s - told_s)

    def _speaks(self, within_s: float | None) -> bool:
        ready = select.poll()
        ready.register(self._descriptor, select.POLLIN)
        return bool(ready.poll(None if within_s is None else within_s * 1000))

    def _reads(self) -> bool:
        """Take in the next part; False at the end."""
        try:
            part = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:  # another reader of the same pipe was faster
            return True
        except OSError as error:
            raise UsageError(f"standard input cannot be read: {error.strerror}") from error
        self._parts.append(part)
        self._total_bytes += len(part)
        if self._total_bytes > MAX_INPUT_BYTES:
            raise UsageError(
                f"standard input holds more than {MAX_INPUT_BYTES:,} bytes",
                hint="put long material into a file and name it in the prompt",
            )
        return bool(part)

"""The prompt: from the command line, from standard input, or from both; a pipe that never closes does not hold it up.

With a prompt on the command line, standard input has `FIRST_BYTE_S` to say its first byte; once it speaks it is read to
its end. Without one it is read to its end. At most `MAX_INPUT_BYTES` are taken.
"""

import os
import select
import stat
from collections.abc import Callable
from typing import Final

from ostinato.errors import UsageError

FIRST_BYTE_S: Final = 3.0
"""Long enough for a program that starts on the other side of a pipe, short enough to wait for nobody."""

MAX_INPUT_BYTES: Final = 40_000_000
"""Ten million characters, the most that a prompt may have, in the longest UTF-8."""

_CHUNK_BYTES: Final = 1 << 20
_HINT: Final = 'say what should be done: `ostinato -p "…"`, or pipe it in'


def read_prompt(
    argument: str | None,
    talk: Callable[[str], None],
    *,
    descriptor: int = 0,
    first_byte_s: float = FIRST_BYTE_S,
) -> str:
    """The argument, then what standard input holds. Raises UsageError if there is nothing, or far too much."""
    said = "" if argument is None else legal_text(argument)
    piped = _piped(descriptor, None if argument is None else first_byte_s, talk)
    prompt = "\n\n".join(part for part in (said, piped) if part.strip())
    if not prompt:
        raise UsageError("the prompt is empty", hint=_HINT)
    return prompt


def legal_text(argument: str) -> str:
    """An argument as the user typed it, in UTF-8 whatever the locale claims."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _piped(descriptor: int, first_byte_s: float | None, talk: Callable[[str], None]) -> str:
    """What comes in, without the line ends at its end; empty for a terminal, a closed descriptor and silence."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return ""
    if os.isatty(descriptor) or stat.S_ISDIR(mode):
        return ""
    if first_byte_s is not None and not _speaks(descriptor, first_byte_s):
        talk(
            f"note: nothing came on standard input within {first_byte_s:g} s, so it is not waited for; "
            "`< /dev/null` says that there is nothing\n"
        )
        return ""
    return _read_all(descriptor).decode("utf-8", "replace").rstrip("\r\n")


def _speaks(descriptor: int, within_s: float) -> bool:
    """Whether data or an end comes in time."""
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    return bool(ready.poll(within_s * 1000))


def _read_all(descriptor: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    while part := _read(descriptor):
        parts.append(part)
        total += len(part)
        if total > MAX_INPUT_BYTES:
            raise UsageError(
                f"standard input holds more than {MAX_INPUT_BYTES:,} bytes",
                hint="put long material into a file and name it in the prompt",
            )
    return b"".join(parts)


def _read(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            _speaks(descriptor, 60.0)
        except OSError as error:
            raise UsageError(f"standard input cannot be read: {error.strerror}") from error

"""What bash itself does with a shell text: every builtin is off, no program can be found, and what would have run is written down.

Texts may hold no slash, so that nothing outside of the folder can be named, read or written.
"""

import contextlib
import os
import signal
import subprocess
from functools import cache
from pathlib import Path

TIMEOUT_S = 1.0
HOME_NAME = "/place"
PROLOGUE = """
command_not_found_handle() {{ /usr/bin/printf '%s\\0' "$#" "$@" >>{log}; {answer}; }}
enable -n {builtins}
"""


@cache
def builtins() -> str:
    """Every builtin of this bash, the one that turns them off last."""
    done = subprocess.run(["/bin/bash", "-c", "compgen -b"], capture_output=True, check=True, env={})
    names = [name for name in done.stdout.decode().split() if name != "enable"]
    return " ".join((*names, "enable"))


def executed(text: str, folder: Path, *, succeeds: bool) -> list[list[str]]:
    """The command lines that bash would have run if every command succeeded, or failed."""
    assert "/" not in text
    # A file of its own: what an earlier text left in the background may still write to its own.
    log, place = folder / f"log-{len(list(folder.iterdir()))}", folder / HOME_NAME[1:]
    place.mkdir(exist_ok=True)
    answer = "[[ a == a ]]" if succeeds else "[[ a == b ]]"
    prologue = PROLOGUE.format(log=log, answer=answer, builtins=builtins())
    process = subprocess.Popen(
        ["/bin/bash", "--norc", "--noprofile", "-c", f"{prologue}\n{text}"],
        cwd=place,
        env={"PATH": "/nowhere", "HOME": str(place)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(TIMEOUT_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(
            process.pid, signal.SIGKILL
        )  # it, if it goes round in a circle, and what it left in the background
    process.wait()
    return _lines(log.read_bytes() if log.exists() else b"")


def _lines(data: bytes) -> list[list[str]]:
    words = iter(data.decode("utf-8", "surrogateescape").split("\0")[:-1])
    return [[next(words, "") for _ in range(int(number))] for number in words]

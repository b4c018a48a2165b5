"""Links that lead elsewhere for each process (`/proc/self/cwd`, `/dev/fd/3`): here they show our places, not the command's.

Promise: a path with such a link anywhere on its way is found, through other links too.
"""

import os
import re
from pathlib import Path
from typing import Final

PROCESS_LINK: Final = re.compile(
    r"/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/(?:cwd|root|exe|fd|map_files)(?:/|$)"
)
MAX_STEPS: Final = 400
"""More than any path has that the system itself would follow (40 links)."""


def leads_through_a_process(path: Path, real: Path) -> bool:
    """`real` is where the path leads for us. Looks at the file system where they differ."""
    written = os.path.abspath(path)
    if PROCESS_LINK.match(written):
        return True
    if str(real) == written and ".." not in path.parts:
        return False
    return _meets_process_link(str(path if path.is_absolute() else written))


def _meets_process_link(path: str) -> bool:
    """Follow the path link by link, as the system does."""
    waiting = path.split("/")[::-1]
    place = ""
    for _ in range(MAX_STEPS):
        if not waiting:
            return False
        part = waiting.pop()
        if part in {"", "."}:
            continue
        place = os.path.dirname(place).rstrip("/") if part == ".." else f"{place}/{part}"
        if PROCESS_LINK.match(place):
            return True
        target = _target_of(place)
        if target is not None:
            waiting += target.split("/")[::-1]
            place = "" if target.startswith("/") else os.path.dirname(place).rstrip("/")
    return True


def _target_of(place: str) -> str | None:
    try:
        return os.readlink(place)
    except OSError:  # no link, or nothing there
        return None

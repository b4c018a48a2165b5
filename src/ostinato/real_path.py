"""Where a path really leads, for paths that somebody else may have made.

Promise: there is always an answer. `os.path.realpath` raises for a link that nobody may read, as `/proc/1/cwd` is to most
users, and for a name that no file can have.
"""

import os
from pathlib import Path


def real_path(path: str | Path) -> Path:
    """The path without links, as far as that can be told; otherwise as it is written, absolute and without `..`.

    For comparing places. Who decides by it what may be touched asks `os.path.realpath` and takes its error as a no.
    """
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(os.path.abspath(path))


def real_path_of_open(descriptor: int, path: Path) -> Path:
    """Where an open file lies that was opened by `path`. Linux knows it at once; elsewhere the path is followed once more, and where
    Linux has only words for it: it was deleted, or its disk is no longer to be reached from here.
    """
    try:
        found = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return real_path(path)
    is_place = found.startswith("/") and found.endswith(f"/{path.name}")
    return Path(found) if is_place else real_path(path)

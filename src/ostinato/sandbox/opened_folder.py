"""A folder held open, reached step by step from the root: a link anywhere in its path is refused, not followed.

What was judged by its resolved path is then what is used: swapping a folder for a link in between changes nothing.
"""

import contextlib
import os
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Final

from ostinato.errors import UsageError

STEP: Final = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CAN_WALK: Final = hasattr(os, "O_PATH")
"""Elsewhere than on Linux a step would need the right to list each folder; the path is then opened at once."""


@contextlib.contextmanager
def opened_folder(path: Path, *, create: bool = False) -> Generator[int, None, None]:
    """A descriptor of the absolute folder `path`, for `dir_fd`. `create` makes what is missing.

    Raises UsageError for a link on the way, OSError as the system gives it.
    """
    descriptor = _walk(path, create=create) if CAN_WALK else _open_at_once(path, create=create)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def link_on_the_way(path: Path) -> UsageError:
    return UsageError(
        f"`{path}` leads through a symbolic link that was not there when the path was looked up",
        hint="name it again",
    )


def _walk(path: Path, *, create: bool) -> int:
    descriptor = os.open(path.anchor, STEP)
    for name in path.parts[1:]:
        try:
            below = _step(descriptor, name, path, create=create)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def _step(folder: int, name: str, path: Path, *, create: bool) -> int:
    try:
        return os.open(name, STEP, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
        return os.open(name, STEP, dir_fd=folder)
    except NotADirectoryError as error:
        # With O_DIRECTORY the system says the same of a link and of a file.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise link_on_the_way(path) from error
        raise


def _open_at_once(path: Path, *, create: bool) -> int:
    if create:
        path.mkdir(parents=True, exist_ok=True)
    if os.path.realpath(path) != str(path):
        raise link_on_the_way(path)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

"""The one place where children begin: a session of their own, nothing inherited, and marks by which they are found again."""

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO

import msgspec

from ostinato.errors import UsageError
from ostinato.sandbox.guard import guard_of
from ostinato.sandbox.process_tree import RUN_ID_VARIABLE, ProcessTree, adopt, nested_run_id
from ostinato.sandbox.run_group import RunGroup


class Child(msgspec.Struct, frozen=True):
    """`pipes` are the read ends of its output (then standard error, if separate); they do not block."""

    process: "subprocess.Popen[bytes]"
    pipes: tuple[int, ...]
    tree: ProcessTree


def start_child(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    separate_stderr: bool = False,
    stdin: bytes | None = None,
    group: RunGroup | None = None,
    pass_fds: Sequence[int] = (),
    is_apart: bool = False,
) -> Child:
    """Raises UsageError when the child cannot be started. `is_apart`: in the pid namespace of the group, if it has one.

    Started on the calling thread: Python starts children with `vfork` and the interpreter lock held, so that a worker
    thread would cost its hop and free nobody. Only into a namespace another thread must go (`entrance`).
    """
    token, guard = uuid.uuid4().hex, guard_of(os.getpid())
    group_token = "" if group is None else group.token
    guard.expect(group_token)
    outer = env.get(RUN_ID_VARIABLE) or os.environ.get(RUN_ID_VARIABLE, "")
    with contextlib.ExitStack() as child_ends, contextlib.ExitStack() as undo:
        both = [_output_pipe(undo, child_ends) for _ in range(2 if separate_stderr else 1)]
        pipes, write_ends = zip(*both, strict=True)
        source: int = subprocess.DEVNULL
        if stdin is not None:
            source = child_ends.enter_context(_unnamed_file(stdin)).fileno()
        try:
            begin = partial(
                subprocess.Popen[bytes],
                [_encoded(word) for word in argv],
                cwd=cwd,
                env={**env, RUN_ID_VARIABLE: nested_run_id(outer, guard.token, group_token, token)},
                stdin=source,
                stdout=write_ends[0],
                stderr=write_ends[1] if separate_stderr else subprocess.STDOUT,
                start_new_session=True,
                pass_fds=tuple(pass_fds),
            )
            process = group.start(begin) if is_apart and group is not None else begin()
        except (OSError, ValueError, IndexError) as error:
            raise _explain_start(argv, cwd, error) from error
        undo.pop_all()
        tree = adopt(process.pid, token, guard.family)
        if group is not None:
            group.add(tree)
        return Child(process, pipes, tree)


def _output_pipe(undo: contextlib.ExitStack, child_ends: contextlib.ExitStack) -> tuple[int, int]:
    """To be read, without waiting, and to be written to."""
    read_end, write_end = os.pipe()
    undo.callback(os.close, read_end)
    child_ends.callback(os.close, write_end)
    os.set_blocking(read_end, False)
    return read_end, write_end


def _encoded(word: str) -> bytes:
    """For a system whose locale has no such letter the word is UTF-8."""
    try:
        return os.fsencode(word)
    except UnicodeEncodeError:
        return word.encode("utf-8")


def _unnamed_file(content: bytes) -> IO[bytes]:
    """To be read from its beginning; in memory where the system can, so that no folder for temporary files is needed."""
    file = _empty_file()
    file.write(content)
    file.flush()
    file.seek(0)
    return file


def _empty_file() -> IO[bytes]:
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("stdin"), "w+b")
    import tempfile  # ruff: ignore[import-outside-top-level] - few commands are given input

    return tempfile.TemporaryFile()


def _explain_start(argv: Sequence[str], cwd: Path, error: Exception) -> UsageError:
    program = argv[0] if argv else ""
    if not argv:
        return UsageError("no program to run: the argument list is empty")
    if not os.path.isdir(cwd):
        return UsageError(f"cannot run `{program}`: no folder `{cwd}`")
    if isinstance(error, FileNotFoundError):
        return UsageError(f"no program named `{program}`", hint="is it installed, and is its folder in PATH?")
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return UsageError(f"cannot start `{program}`: {reason}")

"""What a running tool call may use: the working folder, the files that were seen, the signal to stop.

They stand apart from `ports.py` because a tool's own context names them; others take them from there.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, Required, TypedDict, Unpack

import msgspec

from ostinato.processes import BackgroundFacts, BackgroundOutput, ProcessResult
from ostinato.submissions import AbortReason


class Abort(Protocol):
    """One abort signal for a query: model call and tools."""

    @property
    def reason(self) -> AbortReason | None:
        """None until aborted."""
        ...

    def abort(self, reason: AbortReason) -> None:
        """Ask everything that runs for this query to end; the first reason stays, but for `interrupt`, after which a harder may come."""
        ...

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back synchronously on abort (at once if already aborted), again on a harder one; returns how to unsubscribe."""
        ...


class Background(Protocol):
    """Commands that run on while the conversation does. They end with it at the latest."""

    def start(self, command: str, *, folder: Path, call_id: str) -> BackgroundFacts:
        """A line of bash; returns once it runs. Raises UsageError when it cannot be started, and when too many run already."""
        ...

    def all(self) -> Sequence[BackgroundFacts]:
        """Those that run and the latest of those that have ended, in the order of their start."""
        ...

    def read(self, task_id: str, *, offset: int | None, max_bytes: int) -> BackgroundOutput:
        """From `offset`, or from where the last reading ended. Raises UsageError for an id that is not there."""
        ...

    async def wait(self, task_id: str, up_to_s: float) -> None:
        """Until it has ended, or the time is over. Raises UsageError for an id that is not there."""
        ...

    async def stop(self, task_id: str) -> BackgroundFacts:
        """End it with its whole tree: SIGTERM, a second, SIGKILL. Raises UsageError for an id that is not there."""
        ...

    async def aclose(self) -> None:
        """End all of them, and whatever other commands of the conversation have left running."""
        ...


class RunOptions(TypedDict, total=False):
    """What may be said of any child. `on_output` gets new output as it comes, the newest of it."""

    timeout_s: Required[float]
    max_output_bytes: int
    on_output: Callable[[str], None] | None


class ProgramOptions(RunOptions, total=False):
    """`separate_stderr`: it is not mixed into the output. `stdin` is all that the child can read, by default nothing."""

    separate_stderr: bool
    stdin: bytes | None


class ShellOptions(RunOptions, total=False):
    """`moves_as`: the id of the call whose command goes on in the background at its timeout, instead of being ended."""

    moves_as: str | None


class Workspace(Protocol):
    """Files and processes as tools may use them."""

    @property
    def background(self) -> Background | None:
        """None where nothing can run in the background."""
        ...

    @property
    def cwd(self) -> Path: ...

    @property
    def stored_results(self) -> Path | None:
        """The folder, resolved, that holds whole results of which the model was shown a part; None if none are kept."""
        ...

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders the agent works in, resolved; `cwd` is inside the first."""
        ...

    @property
    def shell_folder(self) -> Path:
        """Where the shell commands of this round start: `cwd`, or where one of an earlier round went with `cd`."""
        ...

    def settle_shell_folder(self) -> None:
        """A round of calls is over: what its commands did with `cd` counts from here on."""
        ...

    def resolve(self, path: str) -> Path:
        """Absolute, symlinks resolved. Raises UsageError for what cannot be a path."""
        ...

    def is_inside(self, path: Path) -> bool:
        """Whether the resolved path is in one of the roots, compared by components."""
        ...

    async def read_bytes(self, path: Path, *, offset: int = 0, max_bytes: int | None = None) -> bytes:
        """A regular file's bytes; `path` is resolved. Raises OSError, or UsageError for what is no regular file."""
        ...

    async def replace_file(
        self,
        path: Path,
        data: bytes,
        *,
        expected: str | None = None,
        before: bytes | None = None,
        data_hash: str | None = None,
    ) -> str:
        """Put `data` in place atomically and return its hash, which is `data_hash` if the caller knows it.

        `expected` is the hash that must still be there, "" for no file; `before` the bytes that have it, if still at hand.
        """
        ...

    async def run(self, argv: Sequence[str], **options: Unpack[ProgramOptions]) -> ProcessResult:
        """A child in `cwd` with its whole tree; ended on timeout and on cancellation."""
        ...

    async def run_shell(self, command: str, **options: Unpack[ShellOptions]) -> ProcessResult:
        """The same for a line of bash, in `shell_folder`."""
        ...


class SeenFile(msgspec.Struct, frozen=True):
    """A file as the model last saw it: `content_hash` is the SHA-256 of its bytes. `is_partial`: only a range was read."""

    content_hash: str
    is_partial: bool = False


class FileState(Protocol):
    """Which files this conversation has seen: the right to edit, and the proof that nothing changed since."""

    def get(self, path: Path) -> SeenFile | None: ...

    def put(self, path: Path, seen: SeenFile) -> None: ...

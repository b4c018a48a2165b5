"""The real file system and real processes behind the tools, with the promises tools rely on.

Reading never waits for a writer (no FIFO, no device); replacing is atomic and keeps what a file is: its mode, its
owner, its links. File work runs in worker threads.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import msgspec
from anyio import to_thread
from msgspec.structs import replace

from ostinato.call_ports import ProgramOptions, ShellOptions
from ostinato.errors import UsageError
from ostinato.home_folder import expand_home, home_of
from ostinato.processes import BackgroundFacts, ProcessResult
from ostinato.real_path import real_path
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.run_group import RunGroup
from ostinato.sandbox.shell_folder import ShellFolder, folder_report, may_change_folder

if TYPE_CHECKING:
    from ostinato.sandbox.output import Begun
    from ostinato.sandbox.process import TakeOver
    from ostinato.sandbox.start import Child


def _own_environment() -> dict[str, str]:
    return child_environment(os.environ)


def _own_home() -> Path | None:
    return home_of(os.environ)


class LocalWorkspace(msgspec.Struct, frozen=True):
    """This machine, seen from `cwd`; `roots` are the folders the agent works in (links in them are followed).

    `environment` is what children get; by default this process's own without its secrets. `spill_dir` is where output
    too long for a result is kept whole, a real path; without it the rest is lost. `home` is what `~` means, by default that of this process.
    `background` holds what runs on beside the conversation, and ends with it; whoever made it closes it. With a `shell`
    the folder of shell commands follows their `cd`; without, each starts in `cwd`.
    """

    cwd: Path
    roots: tuple[Path, ...]
    environment: Mapping[str, str] = msgspec.field(default_factory=_own_environment)
    spill_dir: Path | None = None
    home: Path | None = msgspec.field(default_factory=_own_home)
    background: BackgroundProcesses | None = None
    shell: ShellFolder | None = None

    @property
    def stored_results(self) -> Path | None:
        return self.spill_dir

    @property
    def shell_folder(self) -> Path:
        return self.cwd if self.shell is None else self.shell.current

    def settle_shell_folder(self) -> None:
        if self.shell is not None:
            self.shell.settle()

    def resolve(self, path: str) -> Path:
        """`path` as an absolute path without `..` and without symlinks in what exists of it.

        Relative paths start at `cwd`, `~` is `home`. Raises UsageError for what no file can be called, and for `~somebody`.
        """
        if "\0" in path:
            raise UsageError(f"a path cannot hold a NUL character: {path!r}")
        try:
            os.fsencode(path)
            expanded = expand_home(path, self.home)
        except UnicodeEncodeError as error:
            raise UsageError(f"a path must be valid Unicode: {path!r}") from error
        try:
            return Path(os.path.realpath(self.cwd / expanded))
        except OSError as error:  # a link that nobody may read
            raise UsageError(f"nobody may look where `{path}` leads: {error.strerror}") from error

    def is_inside(self, path: Path) -> bool:
        """Whether `path` really lies in one of the roots: both sides resolved, compared by components."""
        try:
            real = Path(os.path.realpath(self.cwd / path))
        except (OSError, ValueError):
            return False
        return any(real.is_relative_to(real_path(root)) for root in self.roots)

    async def read_bytes(self, path: Path, *, offset: int = 0, max_bytes: int | None = None) -> bytes:
        """At most `max_bytes` from `offset`, to the end without a limit. `path` comes from `resolve`.

        Raises OSError as the system gives it, UsageError for a folder, FIFO, socket or device (never opened), and for a link
        put into the path since.
        """
        from ostinato.sandbox.files import read_regular_file  # ruff: ignore[import-outside-top-level] - loads with a first call

        return await to_thread.run_sync(
            read_regular_file, self.cwd / path, offset, max_bytes, abandon_on_cancel=True
        )

    async def replace_file(
        self,
        path: Path,
        data: bytes,
        *,
        expected: str | None = None,
        before: bytes | None = None,
        data_hash: str | None = None,
    ) -> str:
        """Make `data` the file's content and return its hash (`data_hash`, if the caller knows it); readers see the old bytes or the new ones.

        `path` comes from `resolve`, so that a symlink stays and its target is replaced; one put into the path since is refused.
        Mode, owner and extended attributes are kept where possible. Missing parent folders are made. Not atomic, but
        written in place, are a file with further hard links (they all get
        the new content) and a file whose folder does not let us replace it.

        `before` are the bytes whose hash is `expected`, if the caller still has them: comparing is cheaper than hashing.

        Raises StaleFile, with nothing changed, when `expected` is given and is not the hash of the content at the moment of
        replacing ("": there is no such file yet), or when a new file turns up at that moment; UsageError for what is no
        regular file; OSError as the system gives it.
        """
        from ostinato.sandbox.files import replace_regular_file  # ruff: ignore[import-outside-top-level] - loads with a first call

        return await to_thread.run_sync(
            replace_regular_file, self.cwd / path, data, expected, before, data_hash
        )

    async def run(self, argv: Sequence[str], **options: Unpack[ProgramOptions]) -> ProcessResult:
        """`run_process` in `cwd` with this workspace's environment."""
        from ostinato.sandbox.process import run_process  # ruff: ignore[import-outside-top-level] - loads with a first call

        return await run_process(
            argv,
            cwd=self.cwd,
            env=self.environment,
            spill_dir=self.spill_dir,
            group=self._group,
            **options,
        )

    async def run_shell(self, command: str, **options: Unpack[ShellOptions]) -> ProcessResult:
        """A line of bash in `shell_folder`, which it may change for the rounds to come (not once it was moved)."""
        from ostinato.sandbox.process import run_process  # ruff: ignore[import-outside-top-level] - loads with a first call

        call_id = options.pop("moves_as", None)
        run = partial(
            run_process,
            cwd=self.shell_folder,
            env=self.environment,
            spill_dir=self.spill_dir,
            group=self._group,
            is_apart=True,
            folds=True,
            take_over=self._mover(command, call_id),
            **options,
        )
        if self.shell is None:
            return await run(("bash", "-c", command))
        news = self.shell.news()
        with folder_report() as report:
            if report is None or not may_change_folder(command):
                result = await run(("bash", "-c", command))
                return replace(result, folder_note=news)
            result = await run(report.argv(command), pass_fds=(report.descriptor,))
            folder = report.folder()
        moved = "" if folder is None else self.shell.ended_in(folder)
        return replace(result, folder_note="; ".join(filter(None, (news, moved))))

    def _mover(self, command: str, call_id: str | None) -> "TakeOver | None":
        background = self.background
        if background is None or call_id is None:
            return None

        def move(
            child: "Child", take_output: "Callable[[], Begun]", started_s: float
        ) -> BackgroundFacts | None:
            try:
                return background.take_over(command, child, take_output, call_id=call_id, started_s=started_s)
            except UsageError:  # too many run already: then it ends at its deadline like any other
                return None

        return move

    @property
    def _group(self) -> RunGroup | None:
        return None if self.background is None else self.background.group

"""A call's workspace: it writes down which file is about to be replaced, so that a resume can tell whether it happened, and
holds the call to the paths that were judged.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

import msgspec

from ostinato.call_ports import ProgramOptions, ShellOptions
from ostinato.errors import UsageError
from ostinato.ports import Background, Workspace
from ostinato.processes import ProcessResult
from ostinato.records import FileIntended
from ostinato.tool import NO_ACCESS, Access


class IntendingWorkspace(msgspec.Struct, frozen=True):
    """Implements the `Workspace` port over another for the call `tool_use_id`."""

    workspace: Workspace
    tool_use_id: str
    record: Callable[[FileIntended], None]
    access: Access = NO_ACCESS

    @property
    def background(self) -> Background | None:
        return self.workspace.background

    @property
    def cwd(self) -> Path:
        return self.workspace.cwd

    @property
    def stored_results(self) -> Path | None:
        return self.workspace.stored_results

    @property
    def roots(self) -> tuple[Path, ...]:
        return self.workspace.roots

    @property
    def shell_folder(self) -> Path:
        return self.workspace.shell_folder

    def settle_shell_folder(self) -> None:
        self.workspace.settle_shell_folder()

    def resolve(self, path: str) -> Path:
        return self.workspace.resolve(path)

    def is_inside(self, path: Path) -> bool:
        return self.workspace.is_inside(path)

    async def read_bytes(self, path: Path, *, offset: int = 0, max_bytes: int | None = None) -> bytes:
        self._require_judged(path, is_written=False)
        return await self.workspace.read_bytes(path, offset=offset, max_bytes=max_bytes)

    async def replace_file(
        self,
        path: Path,
        data: bytes,
        *,
        expected: str | None = None,
        before: bytes | None = None,
        data_hash: str | None = None,
    ) -> str:
        import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

        self._require_judged(path, is_written=True)
        after = data_hash or hashlib.sha256(data).hexdigest()
        self.record(FileIntended(self.tool_use_id, str(path), expected or "", after))
        return await self.workspace.replace_file(
            path, data, expected=expected, before=before, data_hash=after
        )

    def _require_judged(self, path: Path, *, is_written: bool) -> None:
        if not self.access.covers(path, is_written=is_written):
            raise UsageError(
                f"`{path}` is not where the path led when the call was judged", hint="make the call again"
            )

    async def run(self, argv: Sequence[str], **options: Unpack[ProgramOptions]) -> ProcessResult:
        return await self.workspace.run(argv, **options)

    async def run_shell(self, command: str, **options: Unpack[ShellOptions]) -> ProcessResult:
        return await self.workspace.run_shell(command, **options)

"""A call's workspace that writes down which file it is about to replace, so that a resume can tell whether it happened."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ostinato.ports import Background, Workspace
from ostinato.processes import ProcessResult
from ostinato.records import FileIntended


class IntendingWorkspace(msgspec.Struct, frozen=True):
    """Implements the `Workspace` port over another for the call `tool_use_id`."""

    workspace: Workspace
    tool_use_id: str
    record: Callable[[FileIntended], None]

    @property
    def background(self) -> Background | None:
        return self.workspace.background

    @property
    def cwd(self) -> Path:
        return self.workspace.cwd

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
        return await self.workspace.read_bytes(path, offset=offset, max_bytes=max_bytes)

    async def replace_file(
        self, path: Path, data: bytes, *, expected: str | None = None, data_hash: str | None = None
    ) -> str:
        import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

        after = data_hash or hashlib.sha256(data).hexdigest()
        self.record(FileIntended(self.tool_use_id, str(path), expected or "", after))
        return await self.workspace.replace_file(path, data, expected=expected, data_hash=after)

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        max_output_bytes: int = 30_000,
        separate_stderr: bool = False,
        on_output: Callable[[str], None] | None = None,
    ) -> ProcessResult:
        return await self.workspace.run(
            argv,
            timeout_s=timeout_s,
            max_output_bytes=max_output_bytes,
            separate_stderr=separate_stderr,
            on_output=on_output,
        )

    async def run_shell(
        self,
        command: str,
        *,
        timeout_s: float,
        max_output_bytes: int = 30_000,
        on_output: Callable[[str], None] | None = None,
    ) -> ProcessResult:
        return await self.workspace.run_shell(
            command, timeout_s=timeout_s, max_output_bytes=max_output_bytes, on_output=on_output
        )

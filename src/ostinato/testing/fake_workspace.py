"""A workspace over a real folder (a temporary one) in which processes are played, not started."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

import anyio.lowlevel

from ostinato.call_ports import Background, ProgramOptions, ShellOptions
from ostinato.errors import StaleFile, UsageError
from ostinato.processes import ProcessResult

PlayProcess = Callable[[Sequence[str]], ProcessResult]


def played(
    output: str = "", *, exit_code: int | None = 0, stderr: str = "", timed_out: bool = False
) -> ProcessResult:
    """What a played process did."""
    return ProcessResult(exit_code, output, stderr, len(output.encode()), None, timed_out, 0.0)


def _silent(argv: Sequence[str]) -> ProcessResult:
    del argv
    return played()


class FakeWorkspace:
    """The Workspace port. `commands` is every command line it was asked to run; `play` says what became of each."""

    background: Background | None = None

    def __init__(self, root: Path, *, play: PlayProcess | None = None) -> None:
        self.commands: list[tuple[str, ...]] = []
        self._root = root.resolve()
        self._play = play or _silent

    @property
    def cwd(self) -> Path:
        return self._root

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self._root,)

    @property
    def stored_results(self) -> Path | None:
        return None

    @property
    def shell_folder(self) -> Path:
        return self._root

    def settle_shell_folder(self) -> None:
        """Nothing here moves."""

    def resolve(self, path: str) -> Path:
        if not path or "\0" in path:
            raise UsageError(f"{path!r} is not a path")
        return (self._root / path).resolve()

    def is_inside(self, path: Path) -> bool:
        return path.is_relative_to(self._root)

    async def read_bytes(self, path: Path, *, offset: int = 0, max_bytes: int | None = None) -> bytes:
        await anyio.lowlevel.checkpoint()
        data = _read(path)[offset:]
        return data if max_bytes is None else data[:max_bytes]

    async def replace_file(
        self,
        path: Path,
        data: bytes,
        *,
        expected: str | None = None,
        before: bytes | None = None,
        data_hash: str | None = None,
    ) -> str:
        del before, data_hash  # it is quickly made here
        await anyio.lowlevel.checkpoint()
        return _replace(path, data, expected)

    async def run(self, argv: Sequence[str], **options: Unpack[ProgramOptions]) -> ProcessResult:
        """A played process has its result already: of the options only `on_output` counts."""
        self.commands.append(tuple(argv))
        await anyio.lowlevel.checkpoint()
        result = self._play(argv)
        on_output = options.get("on_output")
        if on_output is not None and result.output:
            on_output(result.output)
        return result

    async def run_shell(self, command: str, **options: Unpack[ShellOptions]) -> ProcessResult:
        return await self.run(
            ("bash", "-c", command), timeout_s=options["timeout_s"], on_output=options.get("on_output")
        )


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file")
    return path.read_bytes()


def _replace(path: Path, data: bytes, expected: str | None) -> str:
    if expected is not None and expected != (_hash(path.read_bytes()) if path.exists() else ""):
        raise StaleFile(f"{path} is not what was read before", hint="read it again, then repeat the change")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return _hash(data)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

"""A temporary folder and the built-in tools over it, as one conversation sees them."""

import hashlib
from pathlib import Path

import anyio

from ostinato.ports import SeenFile, Workspace
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.testing.fake_workspace import FakeWorkspace
from ostinato.testing.memory_files import MemoryFiles
from ostinato.testing.tool_contexts import tool_context
from ostinato.tool import Tool, ToolOutcome
from ostinato.tool_input import InvalidInput, checked_input
from ostinato.tools.builtin import builtin_tools


class RacedWorkspace(FakeWorkspace):
    """Someone else writes `theirs` between our last look at a file and its replacement."""

    def __init__(self, root: Path, theirs: bytes) -> None:
        super().__init__(root)
        self._theirs = theirs

    async def replace_file(
        self,
        path: Path,
        data: bytes,
        *,
        expected: str | None = None,
        before: bytes | None = None,
        data_hash: str | None = None,
    ) -> str:
        await anyio.Path(path).write_bytes(self._theirs)
        return await super().replace_file(path, data, expected=expected)


class ToolFolder:
    """Calls go through the input check, like in the loop. `progress` is all live text so far."""

    def __init__(self, path: Path, workspace: Workspace | None = None) -> None:
        self.path = path.resolve()
        self.workspace = workspace or LocalWorkspace(cwd=self.path, roots=(self.path,))
        self.files = MemoryFiles()
        self.progress: list[str] = []
        self.forgiving_edit = False
        self._tools = {tool.name: tool for tool in builtin_tools(is_read_only_command=lambda c: c == "ls")}

    def tool(self, name: str) -> Tool:
        return self._tools[name]

    async def call(self, name: str, /, **tool_input: object) -> ToolOutcome:
        """Names with a hyphen are written with an underscore in front: `_A` is `-A`."""
        wire = {(f"-{key[1:]}" if key.startswith("_") else key): value for key, value in tool_input.items()}
        checked = checked_input(self.tool(name), wire)
        assert not isinstance(checked, InvalidInput), checked
        context = tool_context(
            workspace=self.workspace,
            files=self.files,
            progress=self.progress.append,
            forgiving_edit=self.forgiving_edit,
        )
        outcome = await self.tool(name).call(checked, context)
        return outcome if isinstance(outcome, ToolOutcome) else ToolOutcome(outcome)

    async def text(self, name: str, /, **tool_input: object) -> str:
        """The text of a call that must succeed."""
        outcome = await self.call(name, **tool_input)
        assert not outcome.is_error, outcome.content
        assert isinstance(outcome.content, str)
        return outcome.content

    async def refused(self, name: str, /, **tool_input: object) -> str:
        """The text of a call that must fail and leave every file as it is."""
        before = self.bytes_of_all()
        outcome = await self.call(name, **tool_input)
        assert outcome.is_error, outcome.content
        assert self.bytes_of_all() == before
        assert isinstance(outcome.content, str)
        return outcome.content

    def put(self, name: str, data: bytes | str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def bytes_of(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def bytes_of_all(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.path.rglob("*") if path.is_file()}

    def saw(self, path: Path) -> None:
        """As if the file had been shown to the model otherwise."""
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
        self.files.put(path, SeenFile(digest.hexdigest()))

    def seen(self, name: str) -> SeenFile | None:
        return self.files.get(self.path / name)

"""The context of one tool call, made of doubles."""

from collections.abc import Callable
from pathlib import Path

from ostinato.ports import Abort, FileState, Workspace
from ostinato.testing.fake_workspace import FakeWorkspace
from ostinato.testing.manual_abort import ManualAbort
from ostinato.testing.memory_files import MemoryFiles
from ostinato.tool import AskSideModel, ToolContext, hides_nothing


def tool_context(
    folder: Path | None = None,
    *,
    tool_use_id: str = "t1",
    workspace: Workspace | None = None,
    files: FileState | None = None,
    abort: Abort | None = None,
    progress: Callable[[str], None] | None = None,
    forgiving_edit: bool = False,
    is_hidden: Callable[[Path], bool] = hides_nothing,
    ask_side_model: AskSideModel | None = None,
) -> ToolContext:
    """A context over `folder`, or over the given workspace; everything left out is a fresh double."""
    return ToolContext(
        tool_use_id=tool_use_id,
        workspace=workspace or FakeWorkspace(folder or Path.cwd()),
        files=files or MemoryFiles(),
        abort=abort or ManualAbort(),
        progress=progress or (lambda _text: None),
        forgiving_edit=forgiving_edit,
        is_hidden=is_hidden,
        ask_side_model=ask_side_model,
    )

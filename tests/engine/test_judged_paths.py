"""A call goes where it was judged to go: a link changed while somebody thinks about the question leads nowhere else."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Allow, Options, PermissionAsked
from ostinato.events import UserEvent
from ostinato.messages import ToolResult
from ostinato.testing import Reply, ScriptedModel, call, say

pytestmark = pytest.mark.process

NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": "old", "id": "a"}], "nbformat": 4})
CALLS: dict[str, dict[str, Any]] = {
    "Read": {"file_path": "way/f.ipynb"},
    "Write": {"file_path": "way/new/f", "content": "new"},
    "Edit": {"file_path": "way/f", "old_string": "old", "new_string": "new"},
    "MultiEdit": {"file_path": "way/f", "edits": [{"old_string": "old", "new_string": "new"}]},
    "NotebookEdit": {"notebook_path": "way/f.ipynb", "cell_id": "a", "new_source": "new"},
    "Grep": {"pattern": "old", "path": "way", "output_mode": "content"},
    "Glob": {"pattern": "**/*", "path": "way"},
}
SWAPS = ["link", "folder"]


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("tool", CALLS)
async def test_a_link_changed_during_the_question_is_not_followed(tmp_path: Path, tool: str, swap: str):
    work, there, elsewhere = (tmp_path / name for name in ("work", "there", "elsewhere"))
    for folder, mark in ((there, ""), (elsewhere, " SECRET")):
        folder.mkdir()
        (folder / "f").write_text(f"old{mark}")
        (folder / "f.ipynb").write_text(NOTEBOOK.replace("old", f"old{mark}"))
        (folder / f"name{mark.strip()}").touch()
    work.mkdir()
    way = work / "way"
    way.symlink_to(there)
    before = files(elsewhere)
    asked: list[str] = []

    async def answer(question: PermissionAsked) -> Allow:
        asked.append(question.tool_name)
        if question.tool_use_id == "t2":
            way.unlink()
            if swap == "link":
                way.symlink_to(elsewhere)
            else:
                there.rename(tmp_path / "aside")
                there.symlink_to(elsewhere)
                way.symlink_to(there)
        return Allow()

    reads = [call("Read", "t0", file_path="way/f"), call("Read", "t1", file_path="way/f.ipynb")]
    model = ScriptedModel(Reply(*reads), Reply(call(tool, "t2", **CALLS[tool])), Reply(say("ok")))
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    chosen = Options(cwd=work, model=model, environment=environment, can_use_tool=answer, keep_session=False)
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message("go")]
    results = [block for event in events if isinstance(event, UserEvent) for block in event.message.content]
    last = results[-1]
    assert tool in asked
    assert isinstance(last, ToolResult)
    assert last.is_error, last
    assert "SECRET" not in str(last.content)
    assert files(elsewhere) == before

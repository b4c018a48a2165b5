"""A path that leads elsewhere than when its call was judged tells nothing of that place: neither the call does nor a look at it."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.engine.test_judged_paths import CALLS, NOTEBOOK
from tests.tools.test_access_of_every_tool import TOOLS

from ostinato.errors import UsageError
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.testing import tool_context

PLACES = ("a file", "nothing", "a folder", "no folder above", "a FIFO")


def elsewhere_is(kind: str, place: Path) -> None:
    for name in ("f", "f.ipynb", "new/f"):
        path = place / name
        if kind != "no folder above":
            path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "a file":
            path.write_text("old")
        elif kind == "a folder":
            path.mkdir()
        elif kind == "a FIFO":
            os.mkfifo(path)


async def told(folder: Path, tool_name: str, kind: str) -> list[str]:
    """What the call says, and the look at it."""
    work, there, elsewhere = (folder / name for name in ("work", "there", "elsewhere"))
    for place in (work, there):
        place.mkdir(parents=True)
    (there / "f").write_text("old")
    (there / "f.ipynb").write_text(NOTEBOOK)
    elsewhere_is(kind, elsewhere)
    way = work / "way"
    way.symlink_to(there)
    workspace, tool, given = LocalWorkspace(work, (work,)), TOOLS[tool_name], CALLS[tool_name]
    judged = tool.access(given, workspace)
    way.unlink()
    way.symlink_to(elsewhere)
    around = replace(tool_context(workspace=workspace), access=judged)
    said: list[str] = []
    for ask in filter(None, (tool.call, tool.cannot_succeed)):
        try:
            said.append(str(await ask(given, around)))
        except UsageError as error:
            said.append(str(error))
    return [text.replace(str(folder), "") for text in said]


@pytest.mark.parametrize("tool", CALLS)
async def test_it_tells_the_same_whatever_is_there(tmp_path: Path, tool: str):
    said = [await told(tmp_path / kind, tool, kind) for kind in PLACES]
    assert all(each == said[0] for each in said), said
    assert all("call again" in text for text in said[0]), said

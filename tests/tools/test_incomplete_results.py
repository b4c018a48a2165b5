"""Where a result shows less than there is, a program is told so as well as the model, whichever tool it came from."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.tools.pdf_files import pdf
from tests.tools.tool_folder import ToolFolder

from ostinato.processes import background_task_id
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.testing.fake_workspace import FakeWorkspace, played

NOTEBOOK = '{"cells": [%s], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
CELL = '{"cell_type": "markdown", "id": "c%d", "metadata": {}, "source": "text"}'


def filled(path: Path) -> ToolFolder:
    folder = ToolFolder(path)
    folder.put("a.txt", "needle\n" * 30)
    folder.put("b.txt", "needle\n")
    folder.put("a.ipynb", NOTEBOOK % ", ".join(CELL % number for number in range(5)))
    folder.put("a.pdf", pdf(["one", "two", "three"]))
    return folder


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "whole", "part"),
    [
        ("Read", {"file_path": "a.txt"}, {"file_path": "a.txt", "limit": 3}),
        ("Read", {"file_path": "a.txt"}, {"file_path": "a.txt", "offset": 3}),
        ("Read", {"file_path": "a.ipynb"}, {"file_path": "a.ipynb", "limit": 2}),
        ("Read", {"file_path": "a.pdf"}, {"file_path": "a.pdf", "pages": "2"}),
        ("Grep", {"pattern": "needle"}, {"pattern": "needle", "head_limit": 1}),
        ("Grep", {"pattern": "nothing"}, {"pattern": "needle", "output_mode": "content", "head_limit": 5}),
        ("Bash", {"command": "echo short"}, {"command": "seq 20000"}),
    ],
    ids=["lines", "a later range", "cells", "pages", "files", "matches", "output"],
)
async def test_it_is_said_of_a_part_and_not_of_the_whole(
    tmp_path: Path, name: str, whole: dict[str, Any], part: dict[str, Any]
):
    folder = filled(tmp_path)
    assert not ((await folder.call(name, **whole)).display or {}).get("is_incomplete")
    shown = await folder.call(name, **part)
    assert not shown.is_error
    assert (shown.display or {}).get("is_incomplete") is True


@pytest.mark.process
async def test_a_search_that_was_ended_is_incomplete_whatever_it_found(tmp_path: Path):
    for name in ("Glob", "Grep"):
        for output in ("", "./a.txt\0"):
            result = played(output, exit_code=None, timed_out=True)
            folder = ToolFolder(tmp_path, FakeWorkspace(tmp_path, play=lambda _argv, said=result: said))
            folder.put("a.txt", "x")
            shown = await folder.call(name, pattern="*")
            assert (shown.display or {}).get("is_incomplete") is True, (name, output)


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
async def test_a_page_of_a_command_in_the_background_is_incomplete_until_the_last(tmp_path: Path):
    environment = child_environment({"PATH": "/usr/bin:/bin"})
    background = BackgroundProcesses(environment, tmp_path / "spill")
    folder = ToolFolder(tmp_path, LocalWorkspace(tmp_path, (tmp_path,), environment, background=background))
    await folder.call("Bash", command="seq 10000", run_in_background=True)
    first = await folder.call("TaskOutput", task_id=background_task_id("t1"), block=True)
    last = await folder.call("TaskOutput", task_id=background_task_id("t1"))
    await background.aclose()
    assert (first.display or {}).get("is_incomplete") is True
    assert not (last.display or {}).get("is_incomplete")

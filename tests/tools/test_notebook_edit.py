"""NotebookEdit changes the one cell; every byte of the others, and of the file's layout, stays."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tools.notebooks import code, markdown, notebook, written
from tests.tools.tool_folder import ToolFolder

from ostinato.testing.fake_workspace import FakeWorkspace

LAYOUTS: list[dict[str, Any]] = [
    {},
    {"indent": 4},
    {"indent": "\t"},
    {"indent": None},
    {"is_ascii": True},
    {"end": "\r\n"},
]
CELLS = (
    code("a = 1\n", id="a", outputs=[{"output_type": "stream", "name": "stdout", "text": ["ü\n"]}]),
    markdown("# T", id="b"),
)


async def edited(folder: ToolFolder, data: bytes, **given: object) -> bytes:
    folder.put("n.ipynb", data)
    await folder.call("Read", file_path="n.ipynb")
    await folder.text("NotebookEdit", notebook_path="n.ipynb", **given)
    return folder.bytes_of("n.ipynb")


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
async def test_a_replaced_source_is_written_as_the_formats_own_tools_would(
    folder: ToolFolder, layout: dict[str, Any]
):
    before = notebook(*CELLS)
    after = notebook(
        {**CELLS[0], "source": ["x = 'ö'\n", "y"], "outputs": [], "execution_count": None}, CELLS[1]
    )
    found = await edited(folder, written(before, **layout), cell_id="a", new_source="x = 'ö'\ny")
    if layout.get("indent", 1) is None:
        assert json.loads(found) == after
    else:
        assert found == written(after, **layout)


@pytest.mark.parametrize("layout", LAYOUTS[:3] + LAYOUTS[4:], ids=str)
@pytest.mark.parametrize(("after", "place"), [("a", 1), ("b", 2), (None, 0), ("cell-0", 1)])
async def test_an_inserted_cell_stands_where_it_was_asked_for(
    folder: ToolFolder, layout: dict[str, Any], after: str | None, place: int
):
    more = {"cell_id": after} if after else {}
    found = await edited(
        folder,
        written(notebook(*CELLS), **layout),
        new_source="new",
        cell_type="code",
        edit_mode="insert",
        **more,
    )
    cells = json.loads(found)["cells"]
    made = cells[place]
    assert made == code("new", execution_count=None, id=made["id"])
    assert found == written(notebook(*cells), **layout)
    assert [cell for cell in cells if cell is not made] == list(CELLS)


@pytest.mark.parametrize("layout", LAYOUTS[:3] + LAYOUTS[4:], ids=str)
@pytest.mark.parametrize("gone", [0, 1])
async def test_a_deleted_cell_takes_its_comma_along(folder: ToolFolder, layout: dict[str, Any], gone: int):
    rest = CELLS[1 - gone]
    found = await edited(folder, written(notebook(*CELLS), **layout), cell_id="ab"[gone], edit_mode="delete")
    assert found == written(notebook(rest), **layout)


async def test_the_last_cell_goes_and_a_first_one_comes(folder: ToolFolder):
    found = await edited(folder, written(notebook(CELLS[0])), cell_id="a", edit_mode="delete")
    assert json.loads(found) == notebook()
    await folder.text(
        "NotebookEdit", notebook_path="n.ipynb", new_source="t", cell_type="markdown", edit_mode="insert"
    )
    (made,) = json.loads(folder.bytes_of("n.ipynb"))["cells"]
    assert made == markdown("t", id=made["id"])


async def test_cells_of_older_notebooks_are_numbered_and_get_no_id(folder: ToolFolder):
    old = notebook(code("a"), markdown("b"), minor=2)
    found = await edited(
        folder, written(old), cell_id="cell-1", new_source="c", cell_type="code", edit_mode="insert"
    )
    assert json.loads(found) == notebook(code("a"), markdown("b"), code("c", execution_count=None), minor=2)


async def test_another_kind_of_cell_keeps_its_id_and_its_metadata(folder: ToolFolder):
    before = notebook(code("a", id="a", metadata={"tags": ["x"]}), CELLS[1])
    found = await edited(folder, written(before), cell_id="a", new_source="# A", cell_type="markdown")
    assert found == written(notebook(markdown("# A", id="a", metadata={"tags": ["x"]}), CELLS[1]))


async def test_the_same_call_makes_the_same_id(folder: ToolFolder):
    given: dict[str, Any] = {"new_source": "n", "cell_type": "code", "edit_mode": "insert"}
    first = await edited(folder, written(notebook(*CELLS)), **given)
    assert await edited(folder, written(notebook(*CELLS)), **given) == first
    await folder.text("NotebookEdit", notebook_path="n.ipynb", **given)
    ids = [cell["id"] for cell in json.loads(folder.bytes_of("n.ipynb"))["cells"]]
    assert len(set(ids)) == 4


@pytest.mark.parametrize(
    ("data", "given", "why"),
    [
        (written(notebook(*CELLS)), {"cell_id": "zz", "new_source": "x"}, "a, b"),
        (written(notebook(*CELLS)), {"cell_id": "b", "new_source": "# T"}, "nothing to change"),
        (written(notebook(*CELLS)), {"cell_id": "a", "new_source": "\ud835"}, "surrogate"),
        (b"{ not json", {"cell_id": "a", "new_source": "x"}, "JSON"),
        (b'{"cells": 3}', {"cell_id": "a", "new_source": "x"}, "cells"),
        (b'{"cells": [3]}', {"cell_id": "a", "new_source": "x"}, "no object"),
        (b"[" * 100_000, {"cell_id": "a", "new_source": "x"}, "JSON"),
        (b'{"cells": [', {"cell_id": "a", "new_source": "x"}, "JSON"),
    ],
)
async def test_what_cannot_be_changed_is_refused(
    folder: ToolFolder, data: bytes, given: dict[str, Any], why: str
):
    folder.put("n.ipynb", data)
    await folder.call("Read", file_path="n.ipynb")
    assert why in await folder.refused("NotebookEdit", notebook_path="n.ipynb", **given)


async def test_each_kind_of_file_has_its_own_tool(folder: ToolFolder):
    folder.put("f.py", "a")
    folder.put("n.ipynb", written(notebook(*CELLS)))
    await folder.call("Read", file_path="f.py")
    await folder.call("Read", file_path="n.ipynb")
    assert "use Edit" in await folder.refused(
        "NotebookEdit", notebook_path="f.py", cell_id="a", new_source="b"
    )
    for name, change in (
        ("Edit", {"old_string": "a", "new_string": "b"}),
        ("MultiEdit", {"edits": [{"old_string": "a", "new_string": "b"}]}),
    ):
        assert "NotebookEdit" in await folder.refused(name, file_path="n.ipynb", **change)


@pytest.mark.parametrize(
    "given",
    [
        {"new_source": "x"},
        {"cell_id": "a"},
        {"edit_mode": "delete"},
        {"edit_mode": "insert", "new_source": "x"},
    ],
)
def test_what_is_missing_for_a_mode_is_said(folder: ToolFolder, given: dict[str, Any]):
    assert folder.tool("NotebookEdit").validate({"notebook_path": "n.ipynb", **given})


SOURCES = st.text(alphabet='ab\n\r"\\\u2028é\x00', max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    sources=st.lists(SOURCES, min_size=1, max_size=4),
    new=SOURCES,
    layout=st.sampled_from(LAYOUTS),
    index=st.integers(0, 3),
    mode=st.sampled_from(["replace", "insert", "delete"]),
)
def test_any_change_of_any_notebook_leaves_the_other_cells(
    sources: list[str], new: str, layout: dict[str, Any], index: int, mode: str
):
    index %= len(sources)

    async def scenario() -> None:
        with TemporaryDirectory() as name:
            folder = ToolFolder(Path(name), FakeWorkspace(Path(name)))
            cells = [code(source, id=f"i{number}") for number, source in enumerate(sources)]
            folder.put("n.ipynb", written(notebook(*cells), **layout))
            await folder.call("Read", file_path="n.ipynb")
            outcome = await folder.call(
                "NotebookEdit",
                notebook_path="n.ipynb",
                cell_id=f"i{index}",
                new_source=new,
                cell_type="code",
                edit_mode=mode,
            )
            found = json.loads(folder.bytes_of("n.ipynb"))["cells"]
            if mode == "delete":
                assert found == cells[:index] + cells[index + 1 :]
            elif mode == "insert":
                assert found[: index + 1] + found[index + 2 :] == cells
                assert "".join(found[index + 1]["source"]) == new
            else:
                assert outcome.is_error or "".join(found[index]["source"]) == new
                assert found[:index] + found[index + 1 :] == cells[:index] + cells[index + 1 :]

    anyio.run(scenario)

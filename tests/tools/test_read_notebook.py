"""A notebook is shown cell by cell, with what it printed and drew; a broken one is shown as the text that it is."""

from base64 import b64encode
from typing import Any

from tests.tools.notebooks import code, markdown, notebook, written
from tests.tools.pictures import png
from tests.tools.tool_folder import ToolFolder

from ostinato.messages import Image, ResultBlock, Text

PICTURE = b64encode(png(4, 4)).decode()


async def blocks(folder: ToolFolder, value: object, **given: Any) -> tuple[ResultBlock, ...]:
    folder.put("n.ipynb", written(value))
    outcome = await folder.call("Read", file_path="n.ipynb", **given)
    assert not outcome.is_error, outcome.content
    assert isinstance(outcome.content, tuple)
    return outcome.content


async def test_cells_show_their_source_and_what_they_printed_and_drew(folder: ToolFolder):
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]},
        {"output_type": "display_data", "data": {"image/png": PICTURE + "\n", "text/plain": "<Figure>"}},
        {"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["\x1b[31mE\x1b[0m: no"]},
    ]
    found = await blocks(folder, notebook(markdown("# T", id="m"), code("f()\n", id="c", outputs=outputs)))
    assert found == (
        Text("[cell 1, id m, markdown]\n# T"),
        Text("[cell 2, id c, code, python]\nf()\n\n[output]\n1\n2\n[output]\n<Figure>\n[output]\nE: no"),
        Image("image/png", PICTURE),
    )
    seen = folder.seen("n.ipynb")
    assert seen is not None
    assert not seen.is_partial


async def test_a_range_of_cells_says_how_to_go_on_and_is_a_part(folder: ToolFolder):
    cells = [code(f"x = {number}", id=f"c{number}") for number in range(1, 6)]
    found = await blocks(folder, notebook(*cells), offset=2, limit=2)
    assert found[-1] == Text("[cells 2-3 of 5; go on with offset=4]")
    assert len(found) == 3
    seen = folder.seen("n.ipynb")
    assert seen is not None
    assert seen.is_partial
    assert "only 5 cells" in await folder.refused("Read", file_path="n.ipynb", offset=6)


async def test_large_notebooks_end_at_a_whole_cell(folder: ToolFolder):
    found = await blocks(folder, notebook(*(code("y" * 100_000, id=f"c{number}") for number in range(5))))
    assert found[-1] == Text("[cells 1-2 of 5; go on with offset=3]")


async def test_long_outputs_and_pictures_that_no_model_takes_leave_a_mark(folder: ToolFolder):
    bad = {"output_type": "display_data", "data": {"image/png": "%%%"}}
    large = {"output_type": "display_data", "data": {"image/png": b64encode(png(9000, 1)).decode()}}
    log = {"output_type": "stream", "text": "z" * 50_000}
    (cell,) = await blocks(folder, notebook(code("f()", id="c", outputs=[bad, large, log, 7, {}])))
    assert isinstance(cell, Text)
    assert cell.text.count("cannot be shown") == 2
    assert len(cell.text) < 11_000


async def test_a_notebook_without_cells_says_so(folder: ToolFolder):
    assert await blocks(folder, notebook()) == (Text("[a notebook without cells]"),)


async def test_what_is_no_notebook_is_shown_as_text(folder: ToolFolder):
    folder.put("n.ipynb", '{"worksheets": []}')
    text = await folder.text("Read", file_path="n.ipynb")
    assert text.startswith('1\t{"worksheets"')
    assert "shown as text" in text

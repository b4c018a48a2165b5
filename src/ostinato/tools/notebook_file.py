"""One cell of a notebook's file changed: what NotebookEdit does when it is called."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from anyio import to_thread

from ostinato.tool import ToolContext, ToolOutcome
from ostinato.tools.answer import LONE_SURROGATE, MAX_CHANGE_CHARACTERS, refusal, shown_path, success
from ostinato.tools.existing_file import ExistingFile, NotChangeable, put_in_place_of, read_for_change
from ostinato.tools.file_change import change_display
from ostinato.tools.judged_path import judged_path
from ostinato.tools.line_ends import spliced
from ostinato.tools.notebook_change import (
    NotChanged,
    NotebookEditInput,
    Spans,
    deleted_cell,
    inserted_cell,
    replaced_cell,
    unused_id,
)
from ostinato.tools.notebook_text import NotANotebook, Notebook, read_notebook


class _Change(msgspec.Struct, frozen=True):
    file: ExistingFile
    data: bytes
    account: str
    display: Mapping[str, Any]


async def change_notebook(request: NotebookEditInput, context: ToolContext) -> ToolOutcome:
    """Change one cell; a refused call leaves the file as it is."""
    change = await _planned(request, context)
    if isinstance(change, NotChangeable):
        return refusal(change.reason)
    file = change.file
    failed = await put_in_place_of(file, change.data, context)
    if failed is not None:
        return refusal(failed)
    return success(change.account, max_characters=MAX_CHANGE_CHARACTERS, display=change.display)


async def notebook_refusal(request: NotebookEditInput, context: ToolContext) -> str | None:
    """Why `change_notebook` would refuse now, if it would. Changes nothing."""
    change = await _planned(request, context)
    return change.reason if isinstance(change, NotChangeable) else None


async def _planned(request: NotebookEditInput, context: ToolContext) -> _Change | NotChangeable:
    if LONE_SURROGATE.search(request.new_source or ""):
        return NotChangeable(
            "`new_source` holds half a code point (a lone surrogate), which no file can hold"
        )
    path = judged_path(request.notebook_path, context, is_written=True)
    name = shown_path(path, context.workspace.cwd)
    if path.suffix != ".ipynb":
        return NotChangeable(f"`{name}` is no notebook (.ipynb); use Edit")
    file = await read_for_change(path, context, tool="NotebookEdit")
    if isinstance(file, NotChangeable):
        return file
    try:
        change = await to_thread.run_sync(
            _changed, file, request, name, context.tool_use_id, abandon_on_cancel=True
        )
    except (NotANotebook, UnicodeEncodeError) as error:
        return NotChangeable(f"`{name}` cannot be changed by cells: {error}")
    return NotChangeable(f"{name}: {change.reason}") if isinstance(change, NotChanged) else change


def _changed(file: ExistingFile, request: NotebookEditInput, name: str, call_id: str) -> _Change | NotChanged:
    """Raises NotANotebook, and UnicodeEncodeError for what the file's encoding cannot say."""
    text = file.text.original
    found = _spans(read_notebook(text), request, call_id)
    if isinstance(found, NotChanged):
        return found
    spans, account = found
    if not spans:
        return NotChanged("there is nothing to change: the cell has this source already")
    after = spliced(text, spans)
    read_notebook(after)  # never put in place what nobody can open again
    display = change_display(name, file.text.normal, file.text.normalise(after))
    data = file.encoding.spliced(file.data, text, spans)
    return _Change(file, data, f"{account} in {name}", display)


def _spans(notebook: Notebook, request: NotebookEditInput, call_id: str) -> tuple[Spans, str] | NotChanged:
    index = notebook.find(request.cell_id) if request.cell_id else None
    if request.cell_id and index is None:
        known = ", ".join(cell.id for cell in notebook.cells[:20]) or "none"
        return NotChanged(f"there is no cell `{request.cell_id}`; its cells are: {known}")
    source = request.new_source or ""
    if request.edit_mode == "insert" or index is None:
        # The id must be the same when a run is played again: it is made of the call.
        wanted = hashlib.sha256(f"{call_id} {source}".encode()).hexdigest()[:8]
        new_id = unused_id(notebook.cells, wanted)
        spans = inserted_cell(notebook, index, source, request.cell_type or "code", new_id)
        return (
            spans,
            f"inserted cell {new_id if notebook.has_ids else f'cell-{0 if index is None else index + 1}'}",
        )
    if request.edit_mode == "delete":
        return deleted_cell(notebook, index), f"deleted cell {request.cell_id}"
    return replaced_cell(
        notebook, index, source, request.cell_type
    ), f"replaced the source of cell {request.cell_id}"

"""A change of one cell as spans of the notebook's text: replaced, inserted or deleted, and nothing else touched."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from ostinato.tools.notebook_text import Cell, Notebook, Style, source_value, style_of

CellKind = Literal["code", "markdown"]
Spans = list[tuple[int, int, str]]

CELL_DEPTH = 2
FIELD_DEPTH = 3


class NotebookEditInput(msgspec.Struct, frozen=True):
    """A call of NotebookEdit."""

    notebook_path: str
    cell_id: str = ""
    new_source: str | None = None
    cell_type: CellKind | None = None
    edit_mode: Literal["replace", "insert", "delete"] = "replace"


class NotChanged(msgspec.Struct, frozen=True):
    """Why a change cannot be made."""

    reason: str


def replaced_cell(notebook: Notebook, index: int, source: str, kind: CellKind | None) -> Spans:
    """New source; what a code cell printed belongs to the old one and goes."""
    cell, style = notebook.cells[index], style_of(notebook.text)
    if kind is not None and kind != cell.kind:
        made = _cell_value(kind, source, cell.value)
        return [(cell.start, cell.end, style.render(made, CELL_DEPTH))]
    new: dict[str, object] = {"source": source_value(source, cell.value.get("source"))}
    if cell.kind == "code":
        new |= {"outputs": [], "execution_count": None}
    spans = [
        (*cell.fields[name], style.render(value, FIELD_DEPTH))
        for name, value in new.items()
        if name in cell.fields and cell.value[name] != value
    ]
    if "source" not in cell.fields:
        spans.append((
            cell.end - 1,
            cell.end - 1,
            _member(style, new["source"], comma="," if cell.fields else ""),
        ))
    return sorted(spans)


def inserted_cell(notebook: Notebook, after: int | None, source: str, kind: CellKind, new_id: str) -> Spans:
    """A cell behind the one with index `after`, or before all."""
    style = style_of(notebook.text)
    value = _cell_value(kind, source, {"id": new_id} if notebook.has_ids else {})
    text = style.render(value, CELL_DEPTH)
    inner, outer = style.new_line(CELL_DEPTH), style.new_line(CELL_DEPTH - 1)
    if not notebook.cells:
        return [(notebook.cells_start + 1, notebook.cells_end - 1, f"{inner}{text}{outer}")]
    if after is None:
        first = notebook.cells[0].start
        return [(first, first, f"{text},{inner}")]
    end = notebook.cells[after].end
    return [(end, end, f",{inner}{text}")]


def deleted_cell(notebook: Notebook, index: int) -> Spans:
    """Without the cell and the comma that it needed."""
    cells = notebook.cells
    if index + 1 < len(cells):
        return [(cells[index].start, cells[index + 1].start, "")]
    if index > 0:
        return [(cells[index - 1].end, cells[index].end, "")]
    return [(notebook.cells_start + 1, notebook.cells_end - 1, "")]


def unused_id(cells: tuple[Cell, ...], wanted: str) -> str:
    taken = {cell.id for cell in cells}
    number = 2
    new = wanted
    while new in taken:
        new, number = f"{wanted}-{number}", number + 1
    return new


def _cell_value(kind: CellKind, source: str, old: Mapping[str, object]) -> dict[str, object]:
    """In the order in which the format's own library writes it."""
    value: dict[str, object] = {"cell_type": kind, "metadata": old.get("metadata", {})}
    if "id" in old:
        value["id"] = old["id"]
    if kind == "code":
        value |= {"execution_count": None, "outputs": []}
    value["source"] = source_value(source, old.get("source"))
    return dict(sorted(value.items()))


def _member(style: Style, source: object, *, comma: str) -> str:
    space = " " if style.indent else ""
    return f'{comma}"source":{space}{style.render(source, FIELD_DEPTH)}'

"""Where the cells of a notebook stand in its file, so that a change of one leaves every other byte as it is."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

BLANK: Final = re.compile(r"[ \t\r\n]*")
FIRST_INDENT: Final = re.compile(r"\{\r?\n([ \t]+)")
ESCAPED: Final = re.compile(r"\\u[0-9a-fA-F]{4}")
ROUND: Final = (4, 5)
"""Since this version of the format each cell has an id."""


class NotANotebook(Exception):
    """Why a text is no notebook."""


class Cell(msgspec.Struct, frozen=True):
    """`start` and `end` are places in the file's text; `fields` are those of each value. `id` is made of the number where none is."""

    start: int
    end: int
    id: str
    kind: str
    source: str
    value: Mapping[str, Any]
    fields: Mapping[str, tuple[int, int]]


class Notebook(msgspec.Struct, frozen=True):
    """`cells_start` and `cells_end` are the places of `[` and behind `]`."""

    text: str
    cells: tuple[Cell, ...]
    cells_start: int
    cells_end: int
    has_ids: bool
    language: str

    def find(self, cell_id: str) -> int | None:
        """The index of a cell by its id, or by `cell-N`, N from 0."""
        by_id = next((index for index, cell in enumerate(self.cells) if cell.id == cell_id), None)
        if by_id is not None:
            return by_id
        number = cell_id.removeprefix("cell-")
        is_number = number != cell_id and number.isdecimal() and int(number) < len(self.cells)
        return int(number) if is_number else None


def read_notebook(text: str) -> Notebook:
    """Raises NotANotebook."""
    try:
        return _read(text)
    except (ValueError, RecursionError, IndexError) as error:
        raise NotANotebook(f"it is not valid JSON: {error}") from error


def _read(text: str) -> Notebook:
    start = _after_blank(text, 0)
    if text[start : start + 1] != "{":
        raise NotANotebook("it is no JSON object")
    top = {name: (value, first, last) for name, value, first, last in _members(text, start)}
    value, first, last = top.get("cells", (None, 0, 0))
    if not isinstance(value, list):
        raise NotANotebook("it has no `cells`: notebooks before version 4 are not understood")
    numbers = (top.get("nbformat", (0,))[0], top.get("nbformat_minor", (0,))[0])
    has_ids = all(isinstance(number, int) for number in numbers) and numbers >= ROUND
    cells = tuple(_cell(text, index, *place) for index, place in enumerate(_elements(text, first)))
    metadata = top["metadata"][0] if "metadata" in top else None
    return Notebook(text, cells, first, last, has_ids, _language(metadata))


def _language(metadata: object) -> str:
    for name in ("kernelspec", "language_info"):
        part = cast("Mapping[str, object]", metadata).get(name) if isinstance(metadata, Mapping) else None
        if isinstance(part, Mapping):
            found = cast("Mapping[str, object]", part).get("language" if name == "kernelspec" else "name")
            if isinstance(found, str):
                return found
    return ""


def _cell(text: str, index: int, value: object, start: int, end: int) -> Cell:
    if not isinstance(value, dict):
        raise NotANotebook(f"its cell {index} is no object")
    parts = cast("dict[str, Any]", value)
    fields = {name: (first, last) for name, _, first, last in _members(text, start)}
    cell_id = parts.get("id")
    return Cell(
        start,
        end,
        cell_id if isinstance(cell_id, str) and cell_id else f"cell-{index}",
        str(parts.get("cell_type", "")),
        joined(parts.get("source", "")),
        parts,
        fields,
    )


def joined(text: object) -> str:
    """A text as notebooks keep it: whole, or as a list of lines."""
    if isinstance(text, list):
        return "".join(str(part) for part in cast("list[object]", text))
    return text if isinstance(text, str) else ""


# ---------------------------------------------------------------------------------------------------------- a scan of JSON


def _after_blank(text: str, place: int) -> int:
    found = BLANK.match(text, place)
    return found.end() if found else place


def _value(text: str, place: int) -> tuple[Any, int, int]:
    start = _after_blank(text, place)
    value, end = json.JSONDecoder().raw_decode(text, start)
    return value, start, end


def _members(text: str, place: int) -> Iterator[tuple[str, Any, int, int]]:
    """Name, value, start and end of each member of the object at `place`."""
    place = _after_blank(text, place + 1)
    while text[place] != "}":
        name, _, end = _value(text, place)
        colon = _after_blank(text, end)
        value, start, end = _value(text, colon + 1)
        yield name, value, start, end
        place = _after_comma(text, end)


def _elements(text: str, place: int) -> Iterator[tuple[Any, int, int]]:
    """Value, start and end of each element of the array at `place`."""
    place = _after_blank(text, place + 1)
    while text[place] != "]":
        value, start, end = _value(text, place)
        yield value, start, end
        place = _after_comma(text, end)


def _after_comma(text: str, end: int) -> int:
    place = _after_blank(text, end)
    return _after_blank(text, place + 1) if text[place] == "," else place


# --------------------------------------------------------------------------------------------------------------- rendering


class Style(msgspec.Struct, frozen=True):
    """How a file lays out its JSON. `indent` is empty where it has no lines."""

    indent: str
    line_end: str
    is_ascii: bool

    def render(self, value: object, depth: int) -> str:
        """JSON for a value that stands `depth` levels deep; its first line is not indented."""
        if not self.indent:
            return json.dumps(value, ensure_ascii=self.is_ascii, separators=(",", ":"))
        lines = json.dumps(value, ensure_ascii=self.is_ascii, indent=self.indent)
        return lines.replace("\n", self.line_end + self.indent * depth)

    def new_line(self, depth: int) -> str:
        return self.line_end + self.indent * depth if self.indent else ""


def style_of(text: str) -> Style:
    """As the file's own beginning says."""
    found = FIRST_INDENT.search(text)
    is_ascii = text.isascii() and ESCAPED.search(text) is not None
    return Style(found[1] if found else "", "\r\n" if "\r\n" in text else "\n", is_ascii)


def source_value(source: str, like: object) -> str | Sequence[str]:
    """A source as the format wants it: a list of lines, or one text where the file had one."""
    return source if isinstance(like, str) else source.splitlines(keepends=True)
